//! Connections by TLS, from files that can change while they are served.

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use arc_swap::ArcSwap;
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        self, RootCertStore, ServerConfig,
        crypto::aws_lc_rs,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
        server::{VerifierBuilderError, WebPkiClientVerifier},
    },
};
use tokio_util::sync::CancellationToken;

/// How often the files are looked at, where nothing else is said.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// The most bytes of a file of certificates or of a key.
const MAX_SIZE: u64 = 4 << 20;

/// The files that TLS is made of, all PEM.
///
/// ```no_run
/// use redress_serve::{Tls, TlsFiles};
///
/// # fn load() -> Result<Tls, redress_serve::TlsError> {
/// let files = TlsFiles::new("server.pem", "server.key").client_ca("clients.pem", false);
/// let tls = Tls::load(files)?;
/// // Later, once the files hold a new pair:
/// tls.reload()?;
/// # Ok(tls)
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    certificate: PathBuf,
    key: PathBuf,
    clients: Option<(PathBuf, bool)>,
}

impl TlsFiles {
    /// The certificate with its chain, and its key.
    pub fn new(certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> TlsFiles {
        TlsFiles { certificate: certificate.into(), key: key.into(), clients: None }
    }

    /// Takes certificates of clients that the authorities in `path` have signed, and, where
    /// they are `required`, no client without one. The verified certificate is what a
    /// [`CallerOf`](crate::CallerOf) finds in its connection.
    #[must_use]
    pub fn client_ca(mut self, path: impl Into<PathBuf>, required: bool) -> TlsFiles {
        self.clients = Some((path.into(), required));
        self
    }

    fn paths(&self) -> impl Iterator<Item = &Path> {
        [&self.certificate, &self.key].into_iter().chain(self.clients.as_ref().map(|(ca, _)| ca)).map(PathBuf::as_path)
    }
}

/// Why TLS cannot be made of these files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read.
    #[error("{} cannot be read", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file does not hold what it should.
    #[error("{} holds no {expected} in PEM", path.display())]
    Malformed {
        /// Which.
        path: PathBuf,
        /// What it should hold.
        expected: &'static str,
    },
    /// The certificate and the key are no pair, or of a sort that is not known.
    #[error("{} and {} do not make a pair", certificate.display(), key.display())]
    Pair {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
        /// Why.
        source: rustls::Error,
    },
    /// The authorities cannot be used.
    #[error("the authorities in {} cannot be used", path.display())]
    Authorities {
        /// The file that they are in.
        path: PathBuf,
        /// Why.
        source: VerifierBuilderError,
    },
}

/// TLS from files. A clone is the same: what is loaded into one is served by all.
#[derive(Clone)]
pub struct Tls {
    loaded: Arc<ArcSwap<LoadedCertificate>>,
    /// Held from before the files are read until they are served: else what was read first might be served last.
    loading: Arc<Mutex<()>>,
    look_every: Duration,
}

struct LoadedCertificate {
    files: TlsFiles,
    seen: FileStamps,
    config: Arc<ServerConfig>,
}

/// What the files looked like.
type FileStamps = Vec<Option<(SystemTime, u64)>>;

impl Tls {
    /// Loads the files.
    pub fn load(files: TlsFiles) -> Result<Tls, TlsError> {
        let loaded = Arc::new(ArcSwap::from_pointee(LoadedCertificate::of(files)?));
        Ok(Tls { loaded, loading: Arc::default(), look_every: LOOK_EVERY })
    }

    /// Sets how often a server looks whether the files have changed; by default, every five
    /// seconds. It looks at the files themselves, so that whatever way they are replaced counts.
    #[must_use]
    pub fn look_every(mut self, pause: Duration) -> Tls {
        self.look_every = pause;
        self
    }

    /// Loads the files again: new connections are made with what they hold now. Where that
    /// cannot be used, everything stays as it was.
    pub fn reload(&self) -> Result<(), TlsError> {
        let loading = self.loading();
        self.put(&loading, self.loaded.load().files.clone())
    }

    /// Loads other files in their place. Where they cannot be used, everything stays as it was.
    pub fn replace(&self, files: TlsFiles) -> Result<(), TlsError> {
        self.put(&self.loading(), files)
    }

    fn loading(&self) -> MutexGuard<'_, ()> {
        self.loading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, _: &MutexGuard<'_, ()>, files: TlsFiles) -> Result<(), TlsError> {
        self.loaded.store(Arc::new(LoadedCertificate::of(files)?));
        Ok(())
    }

    /// What makes a connection.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.loaded.load().config))
    }

    /// Loads the files again whenever they have changed, until `end`.
    pub(crate) async fn watch(self, end: CancellationToken) {
        let mut tried: Option<FileStamps> = None;
        while end.run_until_cancelled(tokio::time::sleep(self.look_every)).await.is_some() {
            let this = self.clone();
            let last = tried.take();
            tried = tokio::task::spawn_blocking(move || this.look(last)).await.ok().flatten();
        }
    }

    /// Loads the files if they are neither what is served nor what could not be used before.
    fn look(&self, tried: Option<FileStamps>) -> Option<FileStamps> {
        let loading = self.loading();
        let loaded = self.loaded.load();
        let now = seen(&loaded.files);
        if now == loaded.seen || tried.as_ref() == Some(&now) {
            return tried;
        }
        match self.put(&loading, loaded.files.clone()) {
            Ok(()) => tracing::info!("the certificate was loaded again"),
            Err(error) => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                tracing::error!(%error, cause, "the certificate stays as it was, since its new files cannot be used");
            }
        }
        Some(now)
    }
}

impl LoadedCertificate {
    fn of(files: TlsFiles) -> Result<LoadedCertificate, TlsError> {
        let seen = seen(&files);
        let provider = Arc::new(aws_lc_rs::default_provider());
        let chain = certificates(&files.certificate)?;
        let key = PrivateKeyDer::from_pem_slice(&content(&files.key)?).map_err(|_| wrong(&files.key, "key"))?;
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12]);
        let pair = |source| TlsError::Pair { certificate: files.certificate.clone(), key: files.key.clone(), source };
        let builder = builder.map_err(pair)?;
        let builder = match &files.clients {
            None => builder.with_no_client_auth(),
            Some((path, required)) => {
                let mut roots = RootCertStore::empty();
                // One that is left out would refuse its clients, and nobody would know why.
                let (_, ignored) = roots.add_parsable_certificates(certificates(path)?);
                if ignored > 0 {
                    return Err(TlsError::Malformed { path: path.clone(), expected: "certificate" });
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                let verifier = if *required { verifier } else { verifier.allow_unauthenticated() };
                let verifier = verifier.build();
                builder.with_client_cert_verifier(
                    verifier.map_err(|source| TlsError::Authorities { path: path.clone(), source })?,
                )
            }
        };
        let mut config = builder.with_single_cert(chain, key).map_err(pair)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(LoadedCertificate { seen, config: Arc::new(config), files })
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let bytes = content(path)?;
    let all = CertificateDer::pem_slice_iter(&bytes).collect::<Result<Vec<_>, _>>();
    all.ok().filter(|all| !all.is_empty()).ok_or_else(|| wrong(path, "certificate"))
}

fn content(path: &Path) -> Result<Vec<u8>, TlsError> {
    redress_disk::read(path, MAX_SIZE).map_err(|source| TlsError::Unreadable { path: path.to_owned(), source })
}

fn wrong(path: &Path, expected: &'static str) -> TlsError {
    TlsError::Malformed { path: path.to_owned(), expected }
}

fn seen(files: &TlsFiles) -> FileStamps {
    let looks = |path: &Path| {
        let metadata = redress_disk::metadata(path).ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    };
    files.paths().map(looks).collect()
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("files", &self.loaded.load().files).finish_non_exhaustive()
    }
}
