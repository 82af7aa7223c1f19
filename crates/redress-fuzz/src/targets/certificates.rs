//! Client certificates, as DER: a caller only where the name is in it.

use std::sync::LazyLock;

use redress_access::{CertificateRule, Certificates};

const NAMES: [&str; 3] = ["ci.example", "spiffe://example/ci", "ci@example.com"];

static CERTIFICATES: LazyLock<Certificates> = LazyLock::new(|| {
    let rules = NAMES.map(|name| CertificateRule { name: name.into(), caller: name.into(), scopes: Vec::new() });
    Certificates::new(rules).expect("every rule has a name of its own")
});

pub(super) fn target(data: &[u8]) {
    let Some(caller) = CERTIFICATES.caller(data) else { return };
    let name = caller.id().as_bytes();
    assert!(NAMES.iter().any(|known| known.as_bytes() == name));
    let held = data.windows(name.len()).any(|window| window.eq_ignore_ascii_case(name));
    assert!(held, "the certificate does not hold {}", caller.id());
    // The second look, which is remembered, says the same.
    assert_eq!(CERTIFICATES.caller(data), Some(caller));
}
