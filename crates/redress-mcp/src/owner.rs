//! Whose something is that outlives a request: a session, or the state of a call that asks.

use std::net::IpAddr;

use redress_core::client_prefix;

use crate::RequestContext;

/// Whose something is that outlives a request.
///
/// It is the caller and not its credentials, so that a token can be renewed in the middle of a session. Whoever is not
/// known is told apart by where they are, as limits do: by the address, or by the /64 of an IPv6 address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Owner {
    Caller(Box<str>),
    Household(IpAddr),
    /// Nothing is known, not even an address.
    Unknown,
}

impl Owner {
    pub(crate) fn of(context: &RequestContext) -> Owner {
        match (context.caller(), context.peer) {
            (Some(caller), _) => Owner::Caller(caller.id().into()),
            (None, Some(peer)) => Owner::Household(client_prefix(peer)),
            (None, None) => Owner::Unknown,
        }
    }

    /// The owner as bytes, of which no two owners have the same.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        match self {
            Owner::Caller(id) => [b"caller:", id.as_bytes()].concat(),
            Owner::Household(address) => format!("household:{address}").into_bytes(),
            Owner::Unknown => b"unknown".to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use redress_contract::Caller;

    use super::*;

    fn owner(caller: Option<&str>, peer: Option<&str>) -> Owner {
        let caller = caller.map(|id| Arc::new(Caller::new(id)));
        Owner::of(&RequestContext { caller, peer: peer.map(|peer| peer.parse().unwrap()), ..RequestContext::default() })
    }

    #[test]
    fn a_caller_is_itself_wherever_it_is_and_a_stranger_is_its_household() {
        assert_eq!(owner(Some("ada"), Some("192.0.2.1")), owner(Some("ada"), None));
        assert_eq!(owner(None, Some("2001:db8::1")), owner(None, Some("2001:db8::2:3")));
        let all = [
            owner(Some("ada"), None),
            owner(Some("bob"), None),
            owner(Some("local"), Some("127.0.0.1")),
            owner(Some("192.0.2.1"), None),
            owner(Some("unknown"), None),
            owner(None, Some("192.0.2.1")),
            owner(None, Some("192.0.2.2")),
            owner(None, Some("127.0.0.1")),
            owner(None, None),
        ];
        for (place, one) in all.iter().enumerate() {
            for other in all.iter().skip(place + 1) {
                assert!(one != other && one.to_bytes() != other.to_bytes(), "{one:?} {other:?}");
            }
        }
    }
}
