//! What a caller calls the server: `host` or `host:port`.

use std::net::{IpAddr, Ipv6Addr};

/// Whether `host` or `host:port` is a name of this machine that no other can have. Only a well-formed one is: what is read
/// in two ways is how DNS rebinding gets past a check like this.
///
/// ```
/// use redress_wire::http::is_local_authority;
///
/// assert!(is_local_authority("localhost:7717") && is_local_authority("[::1]"));
/// assert!(!is_local_authority("localhost:abc") && !is_local_authority("localhost.evil.example"));
/// ```
pub fn is_local_authority(authority: &str) -> bool {
    let loopback = |address: IpAddr| address.to_canonical().is_loopback();
    if let Some(bracketed) = authority.strip_prefix('[') {
        let Some((host, port)) = bracketed.split_once(']') else { return false };
        return is_port(port) && host.parse().is_ok_and(|host: Ipv6Addr| loopback(host.into()));
    }
    let (host, port) = authority.split_at(authority.find(':').unwrap_or(authority.len()));
    is_port(port) && (is_localhost(host) || host.parse().is_ok_and(loopback))
}

/// `localhost`, or a name below it (RFC 6761).
fn is_localhost(host: &str) -> bool {
    let mut labels = host.split('.');
    let label = |label: &str| {
        let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        !label.is_empty() && label.len() <= 63 && label.bytes().all(inner)
    };
    labels.next_back().is_some_and(|last| last.eq_ignore_ascii_case("localhost")) && labels.all(label)
}

/// Nothing, or a colon and a port. An empty port is the scheme's own (RFC 3986).
fn is_port(port: &str) -> bool {
    match port.strip_prefix(':') {
        None => port.is_empty(),
        Some("") => true,
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.parse::<u16>().is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_well_formed_name_that_no_other_machine_can_have_is_local() {
        for authority in [
            "127.0.0.1",
            "127.0.0.1:7717",
            "127.9.9.9",
            "localhost",
            "LocalHost:80",
            "localhost:",
            "a.localhost:1",
            "a_b-c.d.localhost",
            "[::1]",
            "[::1]:80",
            "[::ffff:127.0.0.1]",
        ] {
            assert!(is_local_authority(authority), "{authority}");
        }
        for authority in [
            "",
            ":80",
            "evil.example",
            "10.0.0.1",
            "0.0.0.0:7717",
            "[::]",
            "127.0.0.1.evil.example:7717",
            "localhost.evil.example",
            "localhost@evil.example",
            "localhost:80@evil.example",
            "localhost:abc",
            "localhost:+80",
            "localhost:65536",
            "localhost:80:80",
            "localhost:evil.example",
            "localhost ",
            " localhost",
            "localhost/",
            "localhost, evil.example",
            "evil.example/.localhost",
            "evil.example#.localhost",
            "user@a.localhost",
            ".localhost",
            "a..localhost",
            "localhost.",
            "127.1",
            "::1",
            "[::1",
            "[::1]evil.example",
            "[::1]x:80",
            "[127.0.0.1]",
            "[localhost]",
            "[::1%25lo]",
            "[[::1]]",
        ] {
            assert!(!is_local_authority(authority), "{authority}");
        }
    }
}
