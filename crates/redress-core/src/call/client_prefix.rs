//! Where calls come from.

use std::net::{IpAddr, Ipv6Addr};

/// What one subscriber of a network usually has: an IPv4 address, or the /64 of an IPv6 address. Who has one address of
/// it has them all.
///
/// ```
/// let household = |address: &str| redress_core::client_prefix(address.parse().unwrap());
/// assert_eq!(household("2001:db8::1"), household("2001:db8::2:3"));
/// assert_eq!(household("::ffff:192.0.2.1"), household("192.0.2.1"));
/// assert_ne!(household("192.0.2.1"), household("192.0.2.2"));
/// ```
pub fn client_prefix(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    }
}
