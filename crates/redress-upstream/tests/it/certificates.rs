//! Services that know their callers by a client certificate.

use std::{path::PathBuf, sync::Arc};

use redress_upstream::{Credential, Upstream};
use serde_json::json;
use tokio::net::TcpListener;

use crate::{
    credentials::{document, named},
    mock::{call, config, imported, registry},
};

/// A certificate authority with a server's and a client's certificate.
struct Authority {
    folder: tempfile::TempDir,
}

impl Authority {
    fn new() -> (Authority, Arc<tokio_rustls::rustls::ServerConfig>) {
        use tokio_rustls::rustls::{self, RootCertStore, pki_types::PrivateKeyDer, server::WebPkiClientVerifier};
        let folder = tempfile::tempdir().unwrap();
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let authority = params.self_signed(&key).unwrap();
        let issuer = rcgen::Issuer::new(params, key);
        std::fs::write(folder.path().join("ca.pem"), authority.pem()).unwrap();
        let made = |names: Vec<String>| {
            let key = rcgen::KeyPair::generate().unwrap();
            let certificate = rcgen::CertificateParams::new(names).unwrap().signed_by(&key, &issuer).unwrap();
            (certificate, key)
        };
        let (client, client_key) = made(vec!["gateway".to_owned()]);
        std::fs::write(folder.path().join("client.pem"), client.pem()).unwrap();
        std::fs::write(folder.path().join("client.key"), client_key.serialize_pem()).unwrap();
        let (server, server_key) = made(vec!["localhost".to_owned()]);
        let mut roots = RootCertStore::empty();
        roots.add(authority.der().clone()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build().unwrap();
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(verifier)
            .with_single_cert(vec![server.der().clone()], PrivateKeyDer::try_from(server_key.serialize_der()).unwrap())
            .unwrap();
        (Authority { folder }, Arc::new(config))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

#[tokio::test]
async fn a_client_certificate_says_who_calls() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let (authority, tls) = Authority::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let acceptor = tokio_rustls::TlsAcceptor::from(tls);
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let mut bytes = [0; 4096];
                let _ = stream.read(&mut bytes).await;
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
                let _ = stream.shutdown().await;
            });
        }
    });
    let document = document("m: {type: mutualTLS}", "[{m: []}]");
    let made = |certificate: bool| {
        let mut config = config(address);
        config.base_url = Some(format!("https://localhost:{}", address.port()));
        config.roots = vec![authority.path("ca.pem")];
        config.retries = 0;
        if certificate {
            let (certificate, key) = (authority.path("client.pem"), authority.path("client.key"));
            config.credentials.insert("m".to_owned(), Credential::Certificate { certificate, key });
        }
        registry([Upstream::new(imported(&document), config).unwrap()])
    };
    let registry = made(true);
    let envelope = call(&registry, &named(&registry, "take"), json!({})).await;
    assert_eq!(envelope["ok"], true, "{envelope}");
    let registry = made(false);
    assert_eq!(call(&registry, &named(&registry, "take"), json!({})).await["code"], "CREDENTIALS_REQUIRED");
}
