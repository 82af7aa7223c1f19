//! Headers: lines of `name: value` in front of a call that takes a key and needs nobody.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use redress::contract::RequestId;

use crate::{
    operations::TOKEN,
    oracle::{self, Ending},
    service,
};

pub(super) fn target(data: &[u8]) {
    let mut headers = HeaderMap::new();
    for line in data.split(|byte| *byte == b'\n').take(32) {
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let (Some(name), Some(value)) = (parts.next(), parts.next()) else { continue };
        let name = HeaderName::from_bytes(name.trim_ascii());
        let value = HeaderValue::from_bytes(value.trim_ascii());
        if let (Ok(name), Ok(value)) = (name, value) {
            headers.append(name, value);
        }
    }
    let one = |name: &str| {
        let mut values = headers.get_all(name).iter();
        let value = values.next()?.to_str().ok();
        if values.next().is_none() { value.map(str::to_owned) } else { None }
    };
    service::talk(async |service| {
        let mut request = service::post("/ops/demo/once", br#"{"a":1}"#);
        request.headers_mut().extend(headers.clone());
        let answer = service::send(&service.guarded, request).await;
        let ending = oracle::plain(&service.registry, &answer);
        let told = answer.headers["x-request-id"].to_str().expect("an id is plain text");
        match one("x-request-id").filter(|id| RequestId::given(id).is_some()) {
            Some(given) => assert_eq!(given, told),
            None => assert!(RequestId::given(told).is_some(), "{told}"),
        }
        if let Some(page) = answer.headers.get("access-control-allow-origin") {
            assert_eq!(page, service::ORIGIN);
            assert_eq!(one("origin").as_deref(), Some(service::ORIGIN));
        }
        let single = |name: &str| headers.get_all(name).iter().count() == 1;
        if let Some(ms) = one("redress-deadline-ms") {
            let sound = ms.bytes().all(|byte| byte.is_ascii_digit())
                && ms.parse::<u64>().is_ok_and(|ms| (1..=86_400_000).contains(&ms));
            assert!(sound || ending.code() == Some("INVALID_REQUEST"), "{ms}: {ending:?}");
        }
        if let Some(key) = one("idempotency-key") {
            let sound = (1..=255).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic());
            assert!(sound || ending.code() == Some("INVALID_REQUEST"), "{key}: {ending:?}");
        }
        let Some(authorization) = one("authorization").filter(|_| single("authorization")) else { return };
        let Some((scheme, token)) = authorization.split_once(' ') else { return };
        if !scheme.eq_ignore_ascii_case("bearer") {
            return;
        }
        let token = token.trim();
        if token == TOKEN {
            assert_ne!(ending.code(), Some("AUTH_REQUIRED"));
        } else {
            let refused = matches!(ending.code(), Some("AUTH_REQUIRED" | "INVALID_REQUEST"));
            assert!(refused, "nobody has this token: {ending:?}");
            let elsewhere = headers.iter().any(|(name, value)| {
                name != "authorization" && value.to_str().is_ok_and(|value| value.contains(token))
            });
            let shown = String::from_utf8_lossy(&answer.body).contains(token);
            assert!(token.len() < 12 || elsewhere || !shown, "the answer shows the token");
        }
        if let Ending::Well(output) = ending {
            assert_eq!(output["took"]["a"], 1);
        }
    });
}
