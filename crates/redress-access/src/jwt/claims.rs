//! What a token must say, once it is known who wrote it.

use std::sync::Arc;

use redress_contract::Caller;
use redress_core::IdentityError;
use serde_json::{Map, Value};

use crate::JwtOptions;

type Claims = Map<String, Value>;

/// Judges what a token says at `now`; whom it stands for, and until when.
pub(crate) fn judge(claims: &Claims, options: &JwtOptions, now: u64) -> Result<(Arc<Caller>, u64), IdentityError> {
    let skew = options.clock_skew.as_secs();
    let ends = time(claims, "exp")?.ok_or(IdentityError::Invalid)?.saturating_add(skew);
    if ends <= now {
        return Err(IdentityError::Expired);
    }
    let begins = time(claims, "nbf")?.unwrap_or(0);
    if begins > now.saturating_add(skew) {
        return Err(IdentityError::Invalid);
    }
    let right = issuer(claims, &options.issuer)
        && audience(claims, &options.audience)
        && options.required_claims.iter().all(|(path, wanted)| has(claims, path, wanted.as_ref()));
    if !right {
        return Err(IdentityError::Invalid);
    }
    let caller = caller(claims, &options.caller_claim).ok_or(IdentityError::Invalid)?;
    let scopes = scopes(at(claims, &options.scopes_claim)).ok_or(IdentityError::Invalid)?;
    Ok((Arc::new(Caller::new(caller).scopes(scopes)), ends))
}

/// A point in time. One that is there and is none makes the whole token worthless.
fn time(claims: &Claims, name: &str) -> Result<Option<u64>, IdentityError> {
    let Some(value) = claims.get(name) else { return Ok(None) };
    if let Some(seconds) = value.as_u64() {
        return Ok(Some(seconds));
    }
    let seconds = value.as_f64().filter(|seconds| seconds.is_finite() && *seconds >= 0.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "finite, not negative, and it saturates"
    )]
    seconds.map(|seconds| Some(seconds as u64)).ok_or(IdentityError::Invalid)
}

fn issuer(claims: &Claims, wanted: &[String]) -> bool {
    let issuer = claims.get("iss").and_then(Value::as_str);
    wanted.is_empty() || issuer.is_some_and(|issuer| wanted.iter().any(|wanted| wanted == issuer))
}

/// A token that is meant for others must not be taken, or they could use it here (RFC 7519, section 4.1.3).
fn audience(claims: &Claims, wanted: &[String]) -> bool {
    let ours = |value: &Value| value.as_str().is_some_and(|audience| wanted.iter().any(|wanted| wanted == audience));
    match claims.get("aud") {
        None => wanted.is_empty(),
        Some(Value::Array(audiences)) => audiences.iter().any(ours),
        Some(audience) => ours(audience),
    }
}

fn has(claims: &Claims, path: &str, wanted: Option<&Value>) -> bool {
    match (at(claims, path), wanted) {
        (None | Some(Value::Null), _) => false,
        (Some(_), None) => true,
        (Some(value), Some(wanted)) if value == wanted => true,
        (Some(Value::Array(values)), Some(wanted)) => values.contains(wanted),
        (Some(_), Some(_)) => false,
    }
}

/// The name of the caller: text, or a whole number, since that is what some issuers have for ids.
fn caller(claims: &Claims, path: &str) -> Option<String> {
    let name = match at(claims, path)? {
        Value::String(name) => name.clone(),
        Value::Number(number) if number.is_u64() => number.to_string(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    (!name.trim().is_empty() && name.len() <= 256 && !name.chars().any(char::is_control)).then_some(name)
}

/// The words of a string, or the texts of an array. No claim is no scopes; another kind of claim is a mistake.
fn scopes(claim: Option<&Value>) -> Option<Vec<String>> {
    match claim {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(Value::String(words)) => Some(words.split_ascii_whitespace().map(str::to_owned).collect()),
        Some(Value::Array(texts)) => texts.iter().map(|text| text.as_str().map(str::to_owned)).collect(),
        Some(_) => None,
    }
}

/// The claim at a path. A claim whose own name has dots in it, as many have that are URLs, comes first.
fn at<'a>(claims: &'a Claims, path: &str) -> Option<&'a Value> {
    if let Some(value) = claims.get(path) {
        return Some(value);
    }
    let (first, rest) = path.split_once('.')?;
    at(claims.get(first)?.as_object()?, rest)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::KeySource;

    const NOW: u64 = 1_000_000;

    fn options() -> JwtOptions {
        let mut options = JwtOptions::new(KeySource::SecretFile("unread".into()));
        options.issuer = vec!["issuer".into()];
        options.audience = vec!["us".into()];
        options.required_claims.insert("tenant".into(), Some("acme".into()));
        options.required_claims.insert("jti".into(), None);
        options
    }

    fn good() -> Value {
        json!({
            "iss": "issuer", "aud": "us", "sub": "ada", "exp": NOW + 60, "tenant": "acme", "jti": "1",
            "scope": "files:read files:write",
        })
    }

    fn judged(change: impl FnOnce(&mut Value), options: &JwtOptions) -> Result<Caller, IdentityError> {
        let mut claims = good();
        change(&mut claims);
        judge(claims.as_object().unwrap(), options, NOW).map(|(caller, _)| (*caller).clone())
    }

    #[test]
    fn a_token_that_says_everything_stands_for_its_caller_until_it_ends() {
        let claims = good();
        let (caller, ends) = judge(claims.as_object().unwrap(), &options(), NOW).unwrap();
        assert_eq!(*caller, Caller::new("ada").scopes(["files:read", "files:write"]));
        assert_eq!(ends, NOW + 60 + 30);
    }

    #[test]
    fn each_claim_that_is_wrong_makes_the_token_worthless() {
        for (pointer, value) in [
            ("iss", json!("else")),
            ("iss", json!(null)),
            ("iss", json!(["issuer"])),
            ("aud", json!("them")),
            ("aud", json!(["them"])),
            ("aud", json!([])),
            ("aud", json!(7)),
            ("exp", json!("tomorrow")),
            ("exp", json!(null)),
            ("exp", json!(-1)),
            ("nbf", json!(NOW + 31)),
            ("nbf", json!("now")),
            ("sub", json!("")),
            ("sub", json!("a\nb")),
            ("sub", json!({"name": "ada"})),
            ("sub", json!("a".repeat(257))),
            ("tenant", json!("other")),
            ("jti", json!(null)),
            ("scope", json!(7)),
            ("scope", json!(["a", 7])),
        ] {
            let result = judged(|claims| claims[pointer] = value.clone(), &options());
            assert_eq!(result, Err(IdentityError::Invalid), "{pointer} = {value}");
        }
        for missing in ["iss", "aud", "exp", "sub", "tenant", "jti"] {
            let result = judged(|claims| drop(claims.as_object_mut().unwrap().remove(missing)), &options());
            assert_eq!(result, Err(IdentityError::Invalid), "{missing}");
        }
    }

    #[test]
    fn clocks_may_differ_by_the_skew_and_no_more() {
        let at = |name: &'static str, seconds: u64| judged(|claims| claims[name] = json!(seconds), &options());
        assert!(at("exp", NOW - 29).is_ok());
        assert_eq!(at("exp", NOW - 30), Err(IdentityError::Expired));
        assert!(at("nbf", NOW + 30).is_ok());
        assert!(judged(|claims| claims["exp"] = json!(1e300), &options()).is_ok());
    }

    #[test]
    fn a_token_for_others_is_refused_where_no_audience_is_set() {
        let mut open = options();
        open.audience.clear();
        assert_eq!(judged(|_| (), &open), Err(IdentityError::Invalid));
        assert!(judged(|claims| drop(claims.as_object_mut().unwrap().remove("aud")), &open).is_ok());
    }

    #[test]
    fn claims_are_found_inside_others_and_under_names_with_dots() {
        let mut options = options();
        options.scopes_claim = "realm_access.roles".into();
        let nested = judged(|claims| claims["realm_access"] = json!({"roles": ["a", "b"]}), &options).unwrap();
        assert_eq!(nested, Caller::new("ada").scopes(["a", "b"]));
        options.scopes_claim = "https://api.example/roles".into();
        let named = judged(|claims| claims["https://api.example/roles"] = json!(["a"]), &options).unwrap();
        assert_eq!(named, Caller::new("ada").scope("a"));
        options.required_claims.insert("groups".into(), Some("staff".into()));
        assert!(judged(|claims| claims["groups"] = json!(["all", "staff"]), &options).is_ok());
    }
}
