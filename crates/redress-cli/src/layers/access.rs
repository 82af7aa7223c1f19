//! Who calls: from the settings to what tells it.

use std::sync::Arc;

use redress_access::{AccessError, AccessOptions, Authenticator, CheckedFiles, TokenHash};
use redress_serve::Faces;

use crate::{
    config::{AccessTable, GivenToken, ServeSettings},
    error::{CliError, chain},
};

/// What tells who calls, and by what it was opened; nothing where nobody is known.
pub(super) fn open(settings: &ServeSettings) -> Result<Option<(Arc<Authenticator>, AccessTable)>, CliError> {
    let Some(table) = &settings.access else { return Ok(None) };
    let access = Authenticator::open(options(table)).map_err(|error| unusable(&error))?;
    Ok(Some((access, table.clone())))
}

/// The same for a server that runs: a file of tokens that is not there would lock everybody out.
pub(super) fn open_anew(settings: &ServeSettings) -> Result<Option<(Arc<Authenticator>, AccessTable)>, CliError> {
    let missing = settings.access.as_ref().and_then(|table| table.tokens.as_ref()).filter(|path| !path.exists());
    match missing {
        None => open(settings),
        Some(path) => {
            let says =
                format!("there is no file of tokens at {}: make a token first, and name its file then", path.display());
            Err(settings.wrong("access.tokens", says))
        }
    }
}

/// What the files of `access` say now. One that cannot be read stops no change of anything else: what it said before stays
/// in force.
pub(super) fn read(access: &Authenticator) -> Result<Option<CheckedFiles>, CliError> {
    match access.read() {
        Ok(reading) => Ok(Some(reading)),
        Err(error @ (AccessError::Read { .. } | AccessError::Gone { .. })) => {
            tracing::error!(error = chain(&error), "what was read before stays in force");
            Ok(None)
        }
        Err(error) => Err(unusable(&error)),
    }
}

fn unusable(error: &AccessError) -> CliError {
    CliError::AccessUnusable { says: chain(error) }
}

/// The options of `table`.
pub(crate) fn options(table: &AccessTable) -> AccessOptions {
    let mut options = AccessOptions::default();
    options.tokens = table.tokens.clone();
    options.hashes = table.hashes.iter().map(hash).collect();
    #[cfg(feature = "jwt")]
    {
        options.jwt = table.jwt.as_ref().and_then(jwt::options);
    }
    let cache = table.jwt.as_ref().and_then(|jwt| jwt.cache);
    options.cache = cache.unwrap_or(options.cache);
    #[cfg(feature = "tls")]
    {
        options.certificates = certified::rules(table);
    }
    options
}

fn hash(given: &GivenToken) -> TokenHash {
    TokenHash {
        caller: given.caller.clone(),
        scopes: given.scopes.clone(),
        sha256: given.sha256.clone(),
        expires: given.expires.map(|when| when.0),
    }
}

/// `faces` that know callers by the certificates which `access` knows.
#[cfg(feature = "tls")]
pub(crate) fn knowing(faces: Faces, access: &Authenticator) -> Faces {
    certified::knowing(faces, access)
}

/// Without TLS nobody shows a certificate.
#[cfg(not(feature = "tls"))]
pub(crate) fn knowing(faces: Faces, _: &Authenticator) -> Faces {
    faces
}

#[cfg(feature = "tls")]
mod certified {
    use std::sync::Arc;

    use redress_access::{Authenticator, CertificateRule, Certificates};
    use redress_contract::Caller;
    use redress_serve::{CallerOf, Connection, Faces};

    use crate::config::AccessTable;

    pub(super) fn rules(table: &AccessTable) -> Vec<CertificateRule> {
        let callers = table.certificates.iter().flat_map(|certificates| &certificates.callers);
        let rules = callers.map(|known| CertificateRule {
            name: known.name.clone(),
            caller: known.caller.clone(),
            scopes: known.scopes.clone(),
        });
        rules.collect()
    }

    pub(super) fn knowing(faces: Faces, access: &Authenticator) -> Faces {
        let certificates = access.certificates();
        if certificates.is_empty() { faces } else { faces.caller(Certified(Arc::clone(certificates))) }
    }

    /// Whoever shows a certificate that a rule knows is its caller.
    struct Certified(Arc<Certificates>);

    impl CallerOf for Certified {
        fn caller_of(&self, connection: Connection<'_>) -> Option<Arc<Caller>> {
            self.0.caller(connection.certificate?)
        }
    }
}

#[cfg(feature = "jwt")]
mod jwt {
    use std::str::FromStr as _;

    use redress_access::{Algorithm, JwtOptions};

    use crate::config::{JwtTable, KeySourceSetting};

    pub(super) fn options(table: &JwtTable) -> Option<JwtOptions> {
        let mut jwt = JwtOptions::new(match table.keys()? {
            KeySourceSetting::Url(url) => redress_access::KeySource::JwksUrl(url.to_owned()),
            KeySourceSetting::Jwks(path) => redress_access::KeySource::JwksFile(path.to_owned()),
            KeySourceSetting::Secret(path) => redress_access::KeySource::SecretFile(path.to_owned()),
            KeySourceSetting::Key(path) => redress_access::KeySource::KeyFile(path.to_owned()),
        });
        jwt.issuer = table.issuer.iter().cloned().collect();
        jwt.audience = table.audience.iter().flat_map(|audience| audience.as_slice()).cloned().collect();
        let named = table.algorithms.iter().flatten();
        jwt.algorithms = named.filter_map(|algorithm| Algorithm::from_str(algorithm.as_str()).ok()).collect();
        jwt.caller_claim = table.caller_claim.clone().unwrap_or(jwt.caller_claim);
        jwt.scopes_claim = table.scopes_claim.clone().unwrap_or(jwt.scopes_claim);
        let required = table.required_claims.iter().flatten();
        jwt.required_claims = required.map(|(name, value)| (name.clone(), Some(value.clone()))).collect();
        jwt.clock_skew = table.clock_skew.map_or(jwt.clock_skew, |span| span.0);
        Some(jwt)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn every_way_to_sign_has_the_same_name_here_and_where_it_is_checked() {
            for algorithm in crate::config::AlgorithmSetting::ALL {
                assert!(Algorithm::from_str(algorithm.as_str()).is_ok(), "{}", algorithm.as_str());
            }
        }
    }
}
