//! What an operator must not give.

use redress_access::{AccessError, AccessOptions, Authenticator, CertificateRule, NewToken, TokenFile, TokenHash};

fn refused(change: impl FnOnce(&mut AccessOptions)) -> AccessError {
    let mut options = AccessOptions::default();
    change(&mut options);
    Authenticator::open(options).unwrap_err()
}

fn rule(name: &str, caller: &str) -> CertificateRule {
    CertificateRule { name: name.into(), caller: caller.into(), scopes: Vec::new() }
}

#[test]
fn a_hash_that_is_none_is_refused_by_the_name_of_its_caller() {
    let given = |caller: &str, sha256: &str| TokenHash {
        caller: caller.into(),
        scopes: Vec::new(),
        sha256: sha256.into(),
        expires: None,
    };
    let error = refused(|options| options.hashes.push(given("ada", "the token itself, by mistake")));
    assert_eq!(error.to_string(), "the token hash of caller `ada` is not 64 hexadecimal digits");
    assert!(!format!("{error:?}").contains("mistake"));
    let error = refused(|options| options.hashes.push(given(" ", &"0".repeat(64))));
    assert!(matches!(error, AccessError::CallerUnnamed));
    let error = refused(|options| options.hashes.push(given("a\nb", &"0".repeat(64))));
    assert!(matches!(error, AccessError::Unprintable { what: "caller" }));
    let error = refused(|options| {
        options.hashes.push(TokenHash { scopes: vec!["two words".into()], ..given("ada", &"0".repeat(64)) });
    });
    assert!(matches!(error, AccessError::Unprintable { what: "scope" }));
    let error = refused(|options| options.hashes = ["ada", "bob"].map(|caller| given(caller, &"0".repeat(64))).into());
    assert_eq!(error.to_string(), "the token hash of caller `bob` is given twice");
}

#[test]
fn rules_about_certificates_name_callers_and_no_certificate_twice() {
    let error = refused(|options| options.certificates = vec![rule("ci", "a"), rule("ci", "b")]);
    assert_eq!(error.to_string(), "two certificate rules name `ci`");
    assert!(matches!(refused(|options| options.certificates = vec![rule("ci", "")]), AccessError::CallerUnnamed));
    for bad in [
        rule("", "a"),
        rule("c\ni", "a"),
        rule("ci", "a\nb"),
        CertificateRule { scopes: vec!["quo\"te".into()], ..rule("ci", "a") },
    ] {
        let error = refused(|options| options.certificates = vec![bad]);
        assert!(matches!(error, AccessError::Unprintable { .. }), "{error}");
    }
}

#[test]
fn a_token_is_made_only_for_names_and_scopes_that_can_be_shown_and_sent() {
    let folder = tempfile::tempdir().unwrap();
    let file = TokenFile::at(folder.path().join("tokens.json"));
    for new in [
        NewToken::new(""),
        NewToken::new("a\u{1b}[31m"),
        NewToken::new("ada").scopes(["two words"]),
        NewToken::new("ada").scopes(["quo\"te"]),
        NewToken::new("ada").scopes([""]),
        NewToken::new("ada").note("a\nb"),
    ] {
        let error = file.create(new.clone()).unwrap_err();
        assert!(matches!(error, AccessError::CallerUnnamed | AccessError::Unprintable { .. }), "{new:?}: {error}");
    }
    assert!(!file.path().exists());
}
