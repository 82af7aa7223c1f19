//! The HTTP client of an upstream: pooled connections, checked addresses, and a certificate that may be exchanged.

use std::{path::PathBuf, time::Duration};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use reqwest::{Certificate, Client, ClientBuilder, Identity, Proxy, Url, redirect::Policy};
use tokio::time::Instant;
use zeroize::Zeroizing;

use crate::{Credential, UpstreamConfig, UpstreamError, address::Resolver};

/// The most bytes that a certificate file may have.
const MAX: u64 = 1024 * 1024;
/// For how long a certificate is not looked at again.
const LOOKED_AT: Duration = Duration::from_secs(2);
/// Many servers close a connection that was idle for five seconds; one that is about to be closed is not used.
const IDLE: Duration = Duration::from_secs(4);

/// The client of an upstream.
#[derive(Debug)]
pub(crate) struct Clients {
    current: ArcSwap<Client>,
    config: UpstreamConfig,
    trusted: Vec<String>,
    roots: Vec<Certificate>,
    certificate: Option<(PathBuf, PathBuf)>,
    looked: Mutex<Looked>,
}

#[derive(Debug)]
struct Looked {
    at: Instant,
    /// The certificate and its key, as they were read last.
    pem: Option<Zeroizing<Vec<u8>>>,
}

impl Clients {
    /// The client for `config`, which may connect to wherever the names in `trusted` lead.
    pub(crate) fn new(config: &UpstreamConfig, trusted: Vec<String>) -> Result<Clients, UpstreamError> {
        let certificate = config.credentials.values().find_map(|credential| match credential {
            Credential::Certificate { certificate, key } => Some((certificate.clone(), key.clone())),
            Credential::Secret(_) | Credential::Basic { .. } | Credential::ClientCredentials(_) => None,
        });
        let mut roots = Vec::new();
        for path in &config.roots {
            let unfit = || UpstreamError::CertificateUnfit { path: path.display().to_string() };
            let pem = redress_disk::read(path, MAX).map_err(|_| unfit())?;
            roots.extend(Certificate::from_pem_bundle(&pem).map_err(|_| unfit())?);
        }
        let pem = certificate.as_ref().map(pem).transpose()?;
        let client = build(config, &trusted, &roots, pem.as_deref())?;
        Ok(Clients {
            current: ArcSwap::from_pointee(client),
            config: config.clone(),
            trusted,
            roots,
            certificate,
            looked: Mutex::new(Looked { at: Instant::now(), pem }),
        })
    }

    /// The client as it is now. A certificate that was exchanged makes another one.
    pub(crate) async fn get(&self) -> Client {
        if let Some(files) = &self.certificate
            && self.is_due()
        {
            let files = files.clone();
            let read = tokio::task::spawn_blocking(move || pem(&files)).await;
            if let Ok(Ok(pem)) = read {
                self.take(pem);
            }
        }
        Client::clone(&self.current.load())
    }

    fn is_due(&self) -> bool {
        let mut looked = self.looked.lock();
        let due = looked.at.elapsed() >= LOOKED_AT;
        if due {
            looked.at = Instant::now();
        }
        due
    }

    fn take(&self, pem: Zeroizing<Vec<u8>>) {
        let mut looked = self.looked.lock();
        if looked.pem.as_ref() == Some(&pem) {
            return;
        }
        match build(&self.config, &self.trusted, &self.roots, Some(&pem)) {
            Ok(client) => {
                self.current.store(client.into());
                looked.pem = Some(pem);
                tracing::info!(upstream = self.config.name, "a client certificate was exchanged");
            }
            Err(_) => {
                tracing::warn!(
                    upstream = self.config.name,
                    "a client certificate cannot be used, and the last one stays"
                );
            }
        }
    }
}

/// A certificate and its key, in one.
fn pem((certificate, key): &(PathBuf, PathBuf)) -> Result<Zeroizing<Vec<u8>>, UpstreamError> {
    let mut pem = Zeroizing::new(Vec::new());
    for path in [certificate, key] {
        let read = redress_disk::read(path, MAX).map(Zeroizing::new);
        let read = read.map_err(|_| UpstreamError::CertificateUnfit { path: path.display().to_string() })?;
        pem.extend_from_slice(&read);
        pem.push(b'\n');
    }
    Ok(pem)
}

fn build(
    config: &UpstreamConfig,
    trusted: &[String],
    roots: &[Certificate],
    pem: Option<&Vec<u8>>,
) -> Result<Client, UpstreamError> {
    let mut builder = plain(config, trusted, roots)?
        .read_timeout(config.read_timeout)
        .pool_idle_timeout(IDLE)
        .pool_max_idle_per_host(config.concurrency);
    if let Some(pem) = pem {
        let unfit = || UpstreamError::CertificateUnfit { path: "the client certificate".to_owned() };
        builder = builder.identity(Identity::from_pem(pem).map_err(|_| unfit())?);
    }
    builder.build().map_err(|_| UpstreamError::Client)
}

/// The client that asks authorization servers.
pub(crate) fn for_tokens(config: &UpstreamConfig, trusted: &[String]) -> Result<Client, UpstreamError> {
    let time = config.connect_timeout.saturating_mul(2);
    plain(config, trusted, &[])?.timeout(time).build().map_err(|_| UpstreamError::Client)
}

/// The client that gets documents.
pub(crate) fn for_documents(config: &UpstreamConfig, trusted: &[String]) -> Result<Client, UpstreamError> {
    plain(config, trusted, &[])?.read_timeout(config.read_timeout).build().map_err(|_| UpstreamError::Client)
}

/// What every client has: no redirect is followed unseen, no try is made unseen, no proxy of the environment is used, and
/// no cookie is kept from one caller for another.
fn plain(config: &UpstreamConfig, trusted: &[String], roots: &[Certificate]) -> Result<ClientBuilder, UpstreamError> {
    let mut builder = Client::builder()
        .connect_timeout(config.connect_timeout)
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .dns_resolver(Resolver::new(trusted.iter().cloned()))
        .user_agent(concat!("redress/", env!("CARGO_PKG_VERSION")))
        .tls_certs_merge(roots.iter().cloned());
    builder = match &config.proxy {
        None => builder.no_proxy(),
        Some(proxy) => {
            let unsafe_address = || UpstreamError::AddressUnsafe { address: shown(proxy) };
            builder.no_proxy().proxy(Proxy::all(proxy).map_err(|_| unsafe_address())?)
        }
    };
    Ok(builder)
}

/// An address without what may be secret in it.
pub(crate) fn shown(address: &str) -> String {
    let Ok(url) = Url::parse(address) else { return "an address that is none".to_owned() };
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
}
