//! TLS: certificates, their renewal, and those of clients.

use std::{fs, path::Path, time::Duration};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedKey, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
};
use redress_serve::{Server, Tls, TlsError, TlsFiles};
use reqwest::{Certificate, ClientBuilder, Identity};
use tokio::io::AsyncWriteExt as _;

use super::{Served, last_words, telling};

/// An authority that nobody else knows.
struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, "a test");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Authority { pem, issuer: Issuer::new(params, key) }
    }

    fn signs(&self, name: &str, purpose: ExtendedKeyUsagePurpose) -> CertifiedKey<KeyPair> {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.extended_key_usages.push(purpose);
        let signing_key = KeyPair::generate().unwrap();
        let cert = params.signed_by(&signing_key, &self.issuer).unwrap();
        CertifiedKey { cert, signing_key }
    }

    fn trusted(&self) -> ClientBuilder {
        let authority = Certificate::from_pem(self.pem.as_bytes()).unwrap();
        reqwest::Client::builder().tls_certs_only([authority])
    }
}

struct Place {
    folder: tempfile::TempDir,
    files: TlsFiles,
}

impl Place {
    fn of(pair: &CertifiedKey<KeyPair>) -> Place {
        let folder = tempfile::tempdir().unwrap();
        let files = TlsFiles::new(folder.path().join("server.pem"), folder.path().join("server.key"));
        let place = Place { folder, files };
        place.write(pair);
        place
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, pair: &CertifiedKey<KeyPair>) {
        fs::write(self.path().join("server.pem"), pair.cert.pem()).unwrap();
        fs::write(self.path().join("server.key"), pair.signing_key.serialize_pem()).unwrap();
    }

    async fn served(&self, files: TlsFiles) -> Served {
        let server = Server::new(telling().cors_origins(["https://app.example"])).tls(Tls::load(files).unwrap());
        Served::of(server.listen("127.0.0.1:0".parse().unwrap())).await
    }
}

const SERVER: ExtendedKeyUsagePurpose = ExtendedKeyUsagePurpose::ServerAuth;
const CLIENT: ExtendedKeyUsagePurpose = ExtendedKeyUsagePurpose::ClientAuth;

fn url(served: &Served) -> String {
    format!("https://localhost:{}/ops/who/am_i", served.tcp().port())
}

#[tokio::test]
async fn http2_or_http1_is_spoken_as_the_client_wishes() {
    let authority = Authority::new();
    let place = Place::of(&authority.signs("localhost", SERVER));
    let served = place.served(place.files.clone()).await;
    for (client, version) in [
        (authority.trusted().build().unwrap(), reqwest::Version::HTTP_2),
        (authority.trusted().http1_only().build().unwrap(), reqwest::Version::HTTP_11),
    ] {
        let answer = client.post(url(&served)).body("{}").send().await.unwrap();
        assert_eq!(answer.version(), version);
        assert_eq!(answer.text().await.unwrap(), "\"127.0.0.1 local=true secure=true certificate=false\"");
    }
    let stranger = Authority::new().trusted().build().unwrap();
    assert!(stranger.post(url(&served)).body("{}").send().await.is_err());
    served.until(|stats| stats.handshakes_failed == 1).await;
    served.end().await;
}

#[test]
fn files_that_were_replaced_are_not_put_back_by_a_look_at_the_old_ones() {
    let authority = Authority::new();
    let (one, other) =
        (Place::of(&authority.signs("localhost", SERVER)), Place::of(&authority.signs("localhost", SERVER)));
    let tls = Tls::load(one.files.clone()).unwrap();
    for round in 0..200 {
        let files = if round % 2 == 0 { &other } else { &one };
        std::thread::scope(|scope| {
            scope.spawn(|| tls.reload().unwrap());
            scope.spawn(|| tls.replace(files.files.clone()).unwrap());
        });
        let served = format!("{tls:?}");
        assert!(served.contains(&files.path().display().to_string()), "{served}");
    }
}

#[tokio::test]
async fn a_new_pair_is_for_new_connections_and_a_broken_one_changes_nothing() {
    let (old, new) = (Authority::new(), Authority::new());
    let place = Place::of(&old.signs("localhost", SERVER));
    let served = place.served(place.files.clone()).await;
    let asks = async |client: &reqwest::Client| client.post(url(&served)).body("{}").send().await.is_ok();
    let kept = old.trusted().build().unwrap();
    assert!(asks(&kept).await);

    let tls = served.handle.tls().unwrap();
    fs::write(place.path().join("server.key"), KeyPair::generate().unwrap().serialize_pem()).unwrap();
    assert!(matches!(tls.reload(), Err(TlsError::Pair { .. })));
    fs::write(place.path().join("server.key"), "nonsense").unwrap();
    assert!(matches!(tls.reload(), Err(TlsError::Malformed { expected: "key", .. })));
    fs::remove_file(place.path().join("server.key")).unwrap();
    assert!(matches!(tls.reload(), Err(TlsError::Unreadable { .. })));
    assert!(asks(&old.trusted().build().unwrap()).await);

    place.write(&new.signs("localhost", SERVER));
    tls.reload().unwrap();
    assert!(asks(&new.trusted().build().unwrap()).await);
    assert!(!asks(&old.trusted().build().unwrap()).await);
    assert!(asks(&kept).await, "the connection that is open stays open");
    served.end().await;
}

#[tokio::test]
async fn files_that_change_are_loaded_without_being_told() {
    let (old, new) = (Authority::new(), Authority::new());
    let place = Place::of(&old.signs("localhost", SERVER));
    let tls = Tls::load(place.files.clone()).unwrap().look_every(Duration::from_millis(10));
    let server = Server::new(telling()).tls(tls).listen("127.0.0.1:0".parse().unwrap());
    let served = Served::of(server).await;
    place.write(&new.signs("localhost", SERVER));
    let client = new.trusted().pool_max_idle_per_host(0).build().unwrap();
    let loaded = tokio::time::timeout(super::SOON, async {
        while client.post(url(&served)).body("{}").send().await.is_err() {}
    });
    loaded.await.expect("the new pair is served");
    served.end().await;
}

#[tokio::test]
async fn a_client_is_known_by_the_certificate_of_an_authority_that_is_trusted() {
    let (authority, clients) = (Authority::new(), Authority::new());
    let place = Place::of(&authority.signs("localhost", SERVER));
    fs::write(place.path().join("clients.pem"), &clients.pem).unwrap();
    let identity = |pair: CertifiedKey<KeyPair>| {
        let pem = format!("{}{}", pair.cert.pem(), pair.signing_key.serialize_pem());
        Identity::from_pem(pem.as_bytes()).unwrap()
    };
    for required in [false, true] {
        let served = place.served(place.files.clone().client_ca(place.path().join("clients.pem"), required)).await;
        let asks = async |client: reqwest::Client, headers: &[(&'static str, &str)]| {
            let request = client.post(url(&served)).header("content-type", "application/json").body("{}");
            let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
            match request.send().await {
                Ok(answer) => answer.text().await.unwrap(),
                Err(_) => "no connection".to_owned(),
            }
        };
        let known = authority.trusted().identity(identity(clients.signs("ci.example", CLIENT))).build().unwrap();
        let stranger = authority.trusted().identity(identity(Authority::new().signs("ci.example", CLIENT)));
        let none = authority.trusted().build().unwrap();
        let told = |certificate| format!("\"127.0.0.1 local=true secure=true certificate={certificate}\"");
        let without = if required { "no connection".to_owned() } else { told(false) };
        assert_eq!(asks(known.clone(), &[]).await, told(true));
        assert_eq!(asks(none, &[]).await, without);
        assert_eq!(asks(stranger.build().unwrap(), &[]).await, "no connection");
        // A page that the owner of the certificate looks at is not its owner.
        for (headers, certificate) in [
            (&[("origin", "https://evil.example")][..], false),
            (&[("origin", "null")], false),
            (&[("sec-fetch-site", "cross-site")], false),
            (&[("origin", "https://app.example"), ("sec-fetch-site", "cross-site")], true),
            (&[("sec-fetch-site", "same-origin")], true),
        ] {
            // Nor is it whoever sits at this machine.
            let told = told(certificate).replace("local=true", &format!("local={certificate}"));
            assert_eq!(asks(known.clone(), headers).await, told, "{headers:?}");
        }
        served.end().await;
    }
}

#[tokio::test]
async fn who_does_not_shake_hands_holds_up_nobody_and_is_hung_up_on() {
    let authority = Authority::new();
    let place = Place::of(&authority.signs("localhost", SERVER));
    let mut limits = redress_serve::ServerLimits::default();
    limits.handshake_time = Duration::from_millis(50);
    let server = Server::new(telling().limits(limits)).tls(Tls::load(place.files.clone()).unwrap());
    let served = Served::of(server.listen("127.0.0.1:0".parse().unwrap())).await;
    let mut silent = Vec::new();
    for _ in 0..20 {
        silent.push(served.connect().await);
    }
    let mut plain = served.connect().await;
    plain.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    assert!(authority.trusted().build().unwrap().post(url(&served)).body("{}").send().await.is_ok());
    for stream in &mut silent {
        assert_eq!(last_words(stream, "").await, "");
    }
    served.until(|stats| stats.handshakes_failed == 21).await;
    served.end().await;
}

#[test]
fn authorities_that_cannot_all_be_read_are_refused() {
    let clients = Authority::new();
    let place = Place::of(&Authority::new().signs("localhost", SERVER));
    let path = place.path().join("clients.pem");
    let load = |pem: &str| {
        fs::write(&path, pem).unwrap();
        Tls::load(place.files.clone().client_ca(&path, true)).map(drop).map_err(|error| error.to_string())
    };
    let broken = "-----BEGIN CERTIFICATE-----\nbm90IGEgY2VydGlmaWNhdGU=\n-----END CERTIFICATE-----\n";
    assert_eq!(load(&clients.pem), Ok(()));
    let refused = load(&format!("{}{broken}", clients.pem)).unwrap_err();
    assert!(refused.contains("clients.pem"), "{refused}");
}
