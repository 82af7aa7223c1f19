//! What the server shows on its address: TLS, where the settings name it.

use redress_serve::Server;

use crate::{config::ServeSettings, error::CliError};

#[cfg(feature = "tls")]
pub(crate) use with_tls::{files, secured, tls, unusable};
#[cfg(not(feature = "tls"))]
pub(crate) use without_tls::{secured, tls};

#[cfg(feature = "tls")]
mod with_tls {
    use redress_serve::{Tls, TlsError, TlsFiles};

    use super::{CliError, ServeSettings, Server};
    use crate::error::chain;

    /// What TLS is made of, where it is spoken.
    pub(crate) type LoadedTls = Option<Tls>;

    /// The files that `settings` name.
    pub(crate) fn files(settings: &ServeSettings) -> Option<TlsFiles> {
        let tls = settings.tls.as_ref()?;
        let files = TlsFiles::new(&tls.certificate, &tls.key);
        let certificates = settings.access.as_ref().and_then(|access| access.certificates.as_ref());
        Some(
            match certificates.and_then(|table| {
                Some((table.ca.as_ref()?, table.required.unwrap_or(crate::config::defaults::CERTIFICATES_REQUIRED)))
            }) {
                Some((ca, required)) => files.client_ca(ca, required),
                None => files,
            },
        )
    }

    /// Loads what `settings` name.
    pub(crate) fn tls(settings: &ServeSettings) -> Result<LoadedTls, CliError> {
        files(settings).map(Tls::load).transpose().map_err(|error| unusable(&error))
    }

    pub(crate) fn unusable(error: &TlsError) -> CliError {
        CliError::TlsUnusable { says: chain(error) }
    }

    /// The server, which speaks it.
    pub(crate) fn secured(server: Server, tls: LoadedTls) -> Server {
        match tls {
            Some(tls) => server.tls(tls),
            None => server,
        }
    }
}

#[cfg(not(feature = "tls"))]
mod without_tls {
    use super::{CliError, ServeSettings, Server};

    /// Nothing: this build speaks no TLS.
    pub(crate) struct LoadedTls;

    /// Settings that name TLS were refused.
    #[expect(clippy::unnecessary_wraps, reason = "a build that speaks it can fail here")]
    pub(crate) fn tls(_: &ServeSettings) -> Result<LoadedTls, CliError> {
        Ok(LoadedTls)
    }

    pub(crate) fn secured(server: Server, _: LoadedTls) -> Server {
        server
    }
}
