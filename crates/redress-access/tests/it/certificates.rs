//! Client certificates, of which names count.

use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, SanType};
use redress_access::{AccessOptions, Authenticator, CertificateRule, Certificates};

fn certificate(common: Option<&str>, names: Vec<SanType>) -> Vec<u8> {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    if let Some(common) = common {
        params.distinguished_name.push(DnType::CommonName, common);
    }
    params.subject_alt_names = names;
    params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().to_vec()
}

fn dns(name: &str) -> SanType {
    SanType::DnsName(name.try_into().unwrap())
}

fn rule(name: &str, caller: &str) -> CertificateRule {
    CertificateRule { name: name.into(), caller: caller.into(), scopes: vec!["things:read".into()] }
}

fn certificates() -> Certificates {
    Certificates::new([
        rule("ci.example", "ci"),
        rule("spiffe://example/billing", "billing"),
        rule("ada@example.com", "ada"),
        rule("Batch Runner", "batch"),
    ])
    .unwrap()
}

#[test]
fn a_certificate_stands_for_the_caller_whose_name_is_in_it() {
    let certificates = certificates();
    let uri = |uri: &str| SanType::URI(uri.try_into().unwrap());
    let email = |email: &str| SanType::Rfc822Name(email.try_into().unwrap());
    for (common, names, caller) in [
        (None, vec![dns("ci.example")], Some("ci")),
        (None, vec![dns("other.example"), dns("CI.Example")], Some("ci")),
        (None, vec![uri("spiffe://example/billing")], Some("billing")),
        (None, vec![uri("spiffe://example/billing/more")], None),
        (None, vec![email("ada@example.com")], Some("ada")),
        (None, vec![dns("sub.ci.example")], None),
        (Some("Batch Runner"), vec![], Some("batch")),
        (Some("batch runner"), vec![], None),
        (Some("nobody"), vec![], None),
        (None, vec![], None),
        // The common name is free text: it does not count beside names that are not.
        (Some("Batch Runner"), vec![dns("evil.example")], None),
        (Some("Batch Runner"), vec![SanType::IpAddress([127, 0, 0, 1].into())], None),
        // The order of the rules decides, not that of the certificate.
        (None, vec![email("ada@example.com"), dns("ci.example")], Some("ci")),
    ] {
        let der = certificate(common, names.clone());
        // The second time, the certificate has been read.
        for _ in 0..2 {
            let told = certificates.caller(&der);
            assert_eq!(told.as_ref().map(|caller| caller.id()), caller, "{common:?} {names:?}");
            assert!(told.is_none_or(|caller| caller.has("things:read") && !caller.has("things:write")));
        }
    }
}

#[test]
fn what_is_no_certificate_stands_for_nobody() {
    let certificates = certificates();
    let der = certificate(None, vec![dns("ci.example")]);
    for bytes in [&b""[..], b"nonsense", &der[..der.len() / 2], &[0x30, 0x84, 0xff, 0xff, 0xff, 0xff]] {
        assert!(certificates.caller(bytes).is_none());
    }
    assert!(certificates.caller(&der).is_some());
    assert!(Certificates::new([]).unwrap().caller(&der).is_none());
}

#[test]
fn access_holds_the_rules_of_its_options() {
    let mut options = AccessOptions::default();
    options.certificates = vec![rule("ci.example", "ci")];
    let access = Authenticator::open(options).unwrap();
    let told = access.certificates().caller(&certificate(None, vec![dns("ci.example")])).unwrap();
    assert_eq!(told.id(), "ci");
    assert!(Authenticator::open(AccessOptions::default()).unwrap().certificates().is_empty());
}
