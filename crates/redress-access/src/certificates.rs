//! Who calls, by a client certificate.
//!
//! Why so: docs/decisions/0035-who-calls-is-judged-at-each-call.md.

use std::{collections::HashMap, hash::BuildHasher as _, sync::Arc};

use parking_lot::RwLock;
use redress_contract::Caller;
use x509_parser::{certificate::X509Certificate, extensions::GeneralName, prelude::FromDer as _};

use crate::{AccessError, instant, names};

/// How many certificates are remembered.
const MAX: usize = 4096;

/// Which certificate stands for which caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateRule {
    /// A name in the certificate: an alternative name (DNS, URI or e-mail) or, in one that has none, the common
    /// name of its subject.
    pub name: String,
    /// Whom it stands for.
    pub caller: String,
    /// What they may do.
    pub scopes: Vec<String>,
}

/// Tells from a client certificate who calls.
///
/// It believes the certificate: TLS must have verified it before.
///
/// ```
/// use redress_access::{CertificateRule, Certificates};
///
/// let rule = CertificateRule { name: "ci.example".into(), caller: "ci".into(), scopes: vec!["files:read".into()] };
/// let certificates = Certificates::new([rule]).unwrap();
/// assert!(certificates.caller(b"no certificate").is_none());
/// ```
pub struct Certificates {
    rules: Vec<(String, Arc<Caller>)>,
    seed: foldhash::fast::RandomState,
    /// A connection sends many messages under one certificate, which is read once.
    read: RwLock<HashMap<u64, CachedCertificate>>,
}

struct CachedCertificate {
    der: Box<[u8]>,
    stands: Option<Stands>,
}

/// Whom a certificate stands for, and when.
#[derive(Clone)]
struct Stands {
    caller: Arc<Caller>,
    /// The first second and the last, since 1970.
    from: i64,
    to: i64,
}

impl Certificates {
    /// The rules, of which the first that fits a certificate counts.
    pub fn new(rules: impl IntoIterator<Item = CertificateRule>) -> Result<Certificates, AccessError> {
        let mut known: Vec<(String, Arc<Caller>)> = Vec::new();
        for CertificateRule { name, caller, scopes } in rules {
            names::check(&caller, &scopes)?;
            if name.is_empty() || !names::is_printable(&name) {
                return Err(AccessError::Unprintable { what: "name of a certificate" });
            }
            if known.iter().any(|(other, _)| *other == name) {
                return Err(AccessError::CertificateTwice { name });
            }
            known.push((name, Arc::new(Caller::new(caller).scopes(scopes))));
        }
        Ok(Certificates { rules: known, seed: foldhash::fast::RandomState::default(), read: RwLock::default() })
    }

    /// Whether there is no rule, so that no certificate stands for anybody.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Whom a verified certificate, as DER, stands for: nobody before it begins and after it has ended, however long
    /// ago TLS has verified it.
    pub fn caller(&self, der: &[u8]) -> Option<Arc<Caller>> {
        self.caller_at(der, i64::try_from(instant::now()).unwrap_or(i64::MAX))
    }

    fn caller_at(&self, der: &[u8], now: i64) -> Option<Arc<Caller>> {
        let stands = self.read(der)?;
        (stands.from <= now && now <= stands.to).then_some(stands.caller)
    }

    fn read(&self, der: &[u8]) -> Option<Stands> {
        if self.rules.is_empty() {
            return None;
        }
        let hash = self.seed.hash_one(der);
        if let Some(read) = self.read.read().get(&hash)
            && *read.der == *der
        {
            return read.stands.clone();
        }
        let stands = self.judge(der);
        let mut known = self.read.write();
        if known.len() >= MAX {
            known.clear();
        }
        known.insert(hash, CachedCertificate { der: der.into(), stands: stands.clone() });
        stands
    }

    fn judge(&self, der: &[u8]) -> Option<Stands> {
        let (_, certificate) = X509Certificate::from_der(der).ok()?;
        let names = names(&certificate);
        let fits = |rule: &str| names.iter().any(|name| name.is(rule));
        let (_, caller) = self.rules.iter().find(|(rule, _)| fits(rule))?;
        let validity = certificate.validity();
        let (from, to) = (validity.not_before.timestamp(), validity.not_after.timestamp());
        Some(Stands { caller: Arc::clone(caller), from, to })
    }
}

/// A name in a certificate.
enum CertificateName<'a> {
    /// A DNS name, of which the case does not matter.
    Dns(&'a str),
    /// Any other, which counts letter by letter.
    Exact(&'a str),
}

impl CertificateName<'_> {
    fn is(&self, rule: &str) -> bool {
        match self {
            CertificateName::Dns(name) => name.eq_ignore_ascii_case(rule),
            CertificateName::Exact(name) => *name == rule,
        }
    }
}

/// The names that count. The common name is free text, and counts only where nothing better is there (RFC 6125).
fn names<'a>(certificate: &'a X509Certificate<'_>) -> Vec<CertificateName<'a>> {
    let alternatives = match certificate.subject_alternative_name() {
        Ok(alternatives) => alternatives,
        // An extension that cannot be read, or is there twice, is not there to be believed.
        Err(_) => return Vec::new(),
    };
    match alternatives {
        Some(alternatives) => alternatives
            .value
            .general_names
            .iter()
            .filter_map(|name| match name {
                GeneralName::DNSName(name) => Some(CertificateName::Dns(name)),
                GeneralName::URI(name) | GeneralName::RFC822Name(name) => Some(CertificateName::Exact(name)),
                GeneralName::OtherName(..)
                | GeneralName::X400Address(_)
                | GeneralName::DirectoryName(_)
                | GeneralName::EDIPartyName(_)
                | GeneralName::IPAddress(_)
                | GeneralName::RegisteredID(_)
                | GeneralName::Invalid(..) => None,
            })
            .collect(),
        None => {
            let common = certificate.subject().iter_common_name();
            common.filter_map(|name| name.as_str().ok()).map(CertificateName::Exact).collect()
        }
    }
}

impl std::fmt::Debug for Certificates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Certificates").field("rules", &self.rules).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;

    #[test]
    fn a_certificate_that_was_read_stands_for_its_caller_while_it_is_valid() {
        let mut params = CertificateParams::new(vec!["ci.example".to_owned()]).unwrap();
        (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2030, 1, 1));
        let der = params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().to_vec();
        let rule = CertificateRule { name: "ci.example".into(), caller: "ci".into(), scopes: Vec::new() };
        let certificates = Certificates::new([rule]).unwrap();
        let (from, to) = (1_577_836_800, 1_893_456_000);
        for (now, stands) in [(from, true), (from - 1, false), (to, true), (to + 1, false), (from, true)] {
            assert_eq!(certificates.caller_at(&der, now).is_some(), stands, "{now}");
        }
    }
}
