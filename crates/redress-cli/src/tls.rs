//! Which servers are believed to be who they say they are.
//!
//! The authorities are those of the system; where it keeps them elsewhere, `SSL_CERT_FILE` and
//! `SSL_CERT_DIR` say where. There is no way to trust everybody.
//!
//! Why so: docs/decisions/0016-tls-in-the-command.md.

use std::path::Path;

use reqwest::{
    Client, ClientBuilder,
    header::{AUTHORIZATION, HeaderMap, HeaderValue},
    redirect::Policy,
};

use crate::error::CliError;

/// A client for the server at `url`, which shows `token` to it.
#[cfg(feature = "tls")]
pub(crate) fn client(url: &str, ca: Option<&Path>, token: Option<&str>) -> Result<Client, CliError> {
    let builder = shown(token)?;
    let builder = if !url.starts_with("https://") {
        // Plain HTTP needs no authorities, and a system without any can speak it too.
        builder.tls_certs_only([])
    } else if let Some(path) = ca {
        builder.tls_certs_merge(authorities(path)?)
    } else {
        builder
    };
    builder.tls_info(true).build().map_err(|error| crate::call_target::unreachable(url, &error))
}

/// A client for the server at `url`, which shows `token` to it.
#[cfg(not(feature = "tls"))]
pub(crate) fn client(url: &str, _: Option<&Path>, token: Option<&str>) -> Result<Client, CliError> {
    if url.starts_with("https://") {
        let says = crate::config::without("a server by https", "tls");
        return Err(CliError::ServerUnreachable { url: url.to_owned(), says });
    }
    shown(token)?.build().map_err(|error| crate::call_target::unreachable(url, &error))
}

/// What every client begins with.
fn shown(token: Option<&str>) -> Result<ClientBuilder, CliError> {
    // A redirect could lead anywhere, such as to a server for which this command is its own user.
    let builder = Client::builder().redirect(Policy::none());
    let Some(token) = token else { return Ok(builder) };
    let unsendable = |_| CliError::Usage {
        says: "the token holds characters that no header can".to_owned(),
        tip: None,
        command: "redress call".to_owned(),
    };
    let mut value = HeaderValue::from_str(&format!("Bearer {}", token.trim())).map_err(unsendable)?;
    value.set_sensitive(true);
    Ok(builder.default_headers(HeaderMap::from_iter([(AUTHORIZATION, value)])))
}

/// The certificates in a file.
#[cfg(feature = "tls")]
fn authorities(path: &Path) -> Result<Vec<reqwest::Certificate>, CliError> {
    use std::io;
    let unreadable = |cause| CliError::FileUnreadable { path: path.display().to_string(), cause };
    let pem = redress_disk::read_once(path, 16 << 20).map_err(unreadable)?;
    match reqwest::Certificate::from_pem_bundle(&pem) {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) | Err(_) => {
            Err(unreadable(io::Error::new(io::ErrorKind::InvalidData, "it holds no certificate in PEM form")))
        }
    }
}

/// Why the certificate of a server was not believed, if that is what went wrong.
#[cfg(feature = "tls")]
pub(crate) fn untrusted(error: &reqwest::Error) -> Option<String> {
    use std::{error::Error, io};
    let mut reason: Option<&(dyn Error + 'static)> = error.source();
    while let Some(error) = reason {
        // An error of a connection does not give what it wraps as its source.
        let inner = error.downcast_ref::<io::Error>().and_then(|error| error.get_ref());
        let found = error.downcast_ref().or_else(|| inner?.downcast_ref());
        if let Some(rustls::Error::InvalidCertificate(why)) = found {
            return Some(told(why));
        }
        reason = inner.map(|inner| -> &(dyn Error + 'static) { inner }).or_else(|| error.source());
    }
    None
}

/// What is wrong with a certificate, in words for a person.
#[cfg(feature = "tls")]
#[expect(clippy::wildcard_enum_match_arm, reason = "rustls has words of its own for the rest, and for what it adds")]
fn told(why: &rustls::CertificateError) -> String {
    use rustls::CertificateError as Why;
    let text = match why {
        Why::UnknownIssuer => "nobody who is trusted has issued it",
        Why::NotValidForName | Why::NotValidForNameContext { .. } => "it is for another name",
        Why::Expired | Why::ExpiredContext { .. } => "it has expired",
        Why::NotValidYet | Why::NotValidYetContext { .. } => "it is not valid yet",
        Why::Revoked => "it has been revoked",
        Why::BadSignature => "it was not signed by whom it names",
        other => return other.to_string(),
    };
    text.to_owned()
}

/// Without TLS there are no certificates.
#[cfg(not(feature = "tls"))]
pub(crate) fn untrusted(_: &reqwest::Error) -> Option<String> {
    None
}
