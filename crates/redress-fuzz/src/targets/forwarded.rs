//! Headers that proxies add, believed only from those that are trusted.

use std::{
    net::{IpAddr, SocketAddr},
    sync::{Arc, LazyLock},
};

use axum::{
    Router,
    extract::ConnectInfo,
    http::{HeaderMap, HeaderName, HeaderValue},
};
use redress::{
    Caller,
    serve::{CallerOf, Connection, Faces},
};

use crate::{
    operations,
    oracle::{self, Ending},
    service,
};

/// Whoever calls is known by the address.
struct ByAddress;

impl CallerOf for ByAddress {
    fn caller_of(&self, connection: Connection<'_>) -> Option<Arc<Caller>> {
        let id = connection.peer?.ip().to_canonical().to_string();
        Some(Arc::new(Caller::new(id).scope("demo:closed")))
    }
}

static ROUTER: LazyLock<Router> = LazyLock::new(|| {
    let proxies = ["127.0.0.1", "10.0.0.0/8"].map(|network| network.parse().expect("it is a network"));
    Faces::new(operations::registry(false)).caller(ByAddress).trusted_proxies(proxies).router()
});

pub(super) fn target(data: &[u8]) {
    let mut headers = HeaderMap::new();
    for line in data.split(|byte| *byte == b'\n').take(16) {
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let (Some(name), Some(value)) = (parts.next(), parts.next()) else { continue };
        let name = HeaderName::from_bytes(name.trim_ascii());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(value.trim_ascii()))
            && (name == "forwarded" || name.as_str().starts_with("x-"))
        {
            headers.append(name, value);
        }
    }
    service::talk(async |service| {
        let who = async |from: [u8; 4]| {
            let mut request = service::post("/ops/demo/closed", b"{}");
            request.headers_mut().extend(headers.clone());
            request.extensions_mut().insert(ConnectInfo(SocketAddr::from((from, 7))));
            let answer = service::send_from(&ROUTER, request).await;
            match oracle::plain(&service.registry, &answer) {
                Ending::Well(id) => id.as_str().map(str::to_owned),
                Ending::Badly { code, .. } => {
                    assert!(matches!(code.as_str(), "AUTH_REQUIRED" | "INVALID_REQUEST"), "{code}");
                    None
                }
            }
        };
        assert!(who([203, 0, 113, 9]).await.is_none_or(|id| id == "203.0.113.9"), "a stranger's word was believed");
        let told = who([127, 0, 0, 1]).await;
        let Some(told) = told else { return };
        if !headers.contains_key("forwarded") && headers.contains_key("x-forwarded-for") {
            assert_eq!(Some(&told), nearest(&headers).as_ref(), "{headers:?}");
        }
        if headers.contains_key("forwarded") && headers.contains_key("x-forwarded-for") {
            assert_eq!(Some(&told), nearest(&headers).as_ref(), "they agree, or neither counts: {headers:?}");
        }
    });
}

/// The address of the first hop from the right that is no proxy of ours, or the last that is.
fn nearest(headers: &HeaderMap) -> Option<String> {
    let whole: Vec<&str> =
        headers.get_all("x-forwarded-for").iter().map(|value| value.to_str().unwrap_or_default()).collect();
    let joined = whole.join(",");
    let mut found = None;
    for hop in joined.split(',').rev().map(str::trim) {
        let bare = hop.strip_prefix('[').and_then(|hop| hop.strip_suffix(']')).unwrap_or(hop);
        let address = bare.parse::<IpAddr>().ok().or_else(|| hop.parse::<SocketAddr>().ok().map(|hop| hop.ip()))?;
        let address = address.to_canonical();
        found = Some(address.to_string());
        let ours = match address {
            IpAddr::V4(address) => address.octets()[0] == 10 || address.octets() == [127, 0, 0, 1],
            IpAddr::V6(_) => false,
        };
        if !ours {
            break;
        }
    }
    found
}
