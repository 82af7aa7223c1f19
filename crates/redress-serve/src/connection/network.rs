//! A range of addresses.

use std::{fmt, net::IpAddr, str::FromStr};

/// A range of addresses, such as `10.0.0.0/8`, `fd00::/8` or `127.0.0.1`.
///
/// ```
/// use redress_serve::Network;
///
/// let network: Network = "10.0.0.0/8".parse().unwrap();
/// assert!(network.holds("10.1.2.3".parse().unwrap()) && !network.holds("11.0.0.1".parse().unwrap()));
/// assert!("10.0.0.0/33".parse::<Network>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network(ipnet::IpNet);

/// The text is no range of addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no range of addresses, such as 10.0.0.0/8")]
pub struct NotANetwork(pub String);

impl Network {
    /// Whether `address` is one of them. An IPv4 address that is written as one of IPv6 is
    /// what it stands for.
    pub fn holds(&self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }
}

impl FromStr for Network {
    type Err = NotANetwork;

    fn from_str(text: &str) -> Result<Network, NotANetwork> {
        let range = text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(|one| one.to_canonical().into()));
        range.map(Network).ok_or_else(|| NotANetwork(text.to_owned()))
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
