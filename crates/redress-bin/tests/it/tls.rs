//! `--server https://…`, at a server whose authority was made for the test.

use std::{net::SocketAddr, sync::Arc, thread};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, pki_types::PrivateKeyDer},
};

use crate::{
    process::{Place, Ran},
    serve::Served,
};

/// An authority that nobody knows.
struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new(name: &str) -> Authority {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Authority { pem, issuer: Issuer::new(params, key) }
    }

    /// What a server shows that this authority vouches for under these names.
    fn vouches_for(&self, names: &[&str]) -> ServerConfig {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        ServerConfig::builder().with_no_client_auth().with_single_cert(vec![certificate.der().clone()], key).unwrap()
    }
}

/// Speaks TLS in front of a server that does not, until the test ends, and says where.
fn in_front_of(plain: SocketAddr, config: ServerConfig) -> SocketAddr {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    thread::spawn(move || {
        runtime.block_on(async {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    // A client that does not trust the certificate hangs up, which is its right.
                    let Ok(mut outside) = acceptor.accept(stream).await else { return };
                    let mut inside = TcpStream::connect(plain).await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut outside, &mut inside).await;
                });
            }
        });
    });
    address
}

#[test]
fn a_server_is_called_over_tls_when_its_authority_is_trusted_and_only_then() {
    let authority = Authority::new("ours");
    let place = Place::new().with("ca.pem", &authority.pem);
    let place = place.with("other.pem", &Authority::new("another").pem);
    let place = place.with("namesake.pem", &Authority::new("ours").pem);
    let served = Served::start(&mut place.command(&["serve", "--listen", "127.0.0.1:0", "--json"]));
    let plain = served.screen()["url"].as_str().unwrap().strip_prefix("http://").unwrap().parse().unwrap();
    let port = in_front_of(plain, authority.vouches_for(&["localhost"])).port();
    let (named, numbered) = (format!("https://localhost:{port}"), format!("https://127.0.0.1:{port}"));

    let read = ["call", "files.read", r#"{"path":"notes.md"}"#, "--json", "--server", &named];
    let by_flag = place.run(&[&read[..], &["--ca", "ca.pem"]].concat());
    assert_eq!(
        (by_flag.code, &by_flag.json()["result"]["content"]),
        (0, &json!("Say how it fails.\n")),
        "{}",
        by_flag.err
    );
    for variable in ["REDRESS_CA", "SSL_CERT_FILE"] {
        let ran = Ran::of(place.command(&read).env(variable, place.path().join("ca.pem")));
        assert_eq!(ran.json()["ok"], true, "{variable}");
    }
    let listed = place.run(&["ops", "--server", &named, "--ca", "ca.pem"]);
    assert!(listed.code == 0 && listed.out.starts_with("files.list"), "{}", listed.seen());
    // What is to be typed next reaches the same server.
    let missing = place.run(&["call", "files.read", r#"{"path":"note.md"}"#, "--server", &named, "--ca", "ca.pem"]);
    assert!(missing.err.contains(&format!("--ca ca.pem --server {named}")), "{}", missing.seen());

    let untrusted: [(&str, &[&str], &str); 4] = [
        (&named, &[], "nobody who is trusted has issued it"),
        (&named, &["--ca", "other.pem"], "nobody who is trusted has issued it"),
        (&named, &["--ca", "namesake.pem"], "it was not signed by whom it names"),
        (&numbered, &["--ca", "ca.pem"], "it is for another name"),
    ];
    for (url, flags, why) in untrusted {
        let ran = place.run(&[&["call", "files.list", "--json", "--server", url], flags].concat());
        assert_eq!((ran.code, &ran.json()["code"]), (2, &json!("SERVER_UNTRUSTED")), "{}", ran.seen());
        assert!(ran.json()["error"].as_str().unwrap().ends_with(why), "{}", ran.seen());
    }
    let seen = place.run(&["ops", "--server", &named]).seen().replace(&port.to_string(), "PORT");
    insta::assert_snapshot!(seen);
    served.stop();
}

/// A certificate that `authority` has signed for `names`, and its key, both in PEM form.
fn pair(authority: &Authority, names: &[&str]) -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap();
    (params.signed_by(&key, &authority.issuer).unwrap().pem(), key.serialize_pem())
}

const SECURED: &str = "state = \"memory\"\n[serve]\nlisten = \"127.0.0.1:0\"\nroot = \"served\"\n\
    [tls]\ncertificate = \"server.pem\"\nkey = \"server.key\"\n\
    [access.certificates]\nca = \"clients.pem\"\ncallers = [{ name = \"ci.example\", caller = \"ci\", scopes = [\"files:read\"] }]\n";

#[test]
fn a_client_certificate_stands_for_its_caller_and_new_certificates_are_taken_while_running() {
    let (old, new, clients) = (Authority::new("old"), Authority::new("new"), Authority::new("clients"));
    let (certificate, key) = pair(&old, &["localhost"]);
    let place = Place::new().with("redress.toml", SECURED).with("clients.pem", &clients.pem);
    let place = place.with("server.pem", &certificate).with("server.key", &key);
    std::fs::create_dir(place.path().join("served")).unwrap();
    let mut served = Served::start(&mut place.command(&["serve", "redress.toml", "--json"]));
    let mut log = served.log();
    let url = served.url().replace("127.0.0.1", "localhost");
    assert!(url.starts_with("https://"), "{url}");

    let called = |authority: &Authority, names: Option<&[&str]>| {
        let trusted = reqwest::Certificate::from_pem(authority.pem.as_bytes()).unwrap();
        let mut client = reqwest::blocking::Client::builder().tls_certs_only([trusted]);
        if let Some(names) = names {
            let (certificate, key) = pair(&clients, names);
            client = client.identity(reqwest::Identity::from_pem(format!("{certificate}{key}").as_bytes()).unwrap());
        }
        let call =
            client.build().unwrap().post(format!("{url}/ops/files/list")).header("content-type", "application/json");
        call.body("{}").send().map(|answer| answer.status().as_u16()).map_err(drop)
    };
    assert_eq!(called(&old, Some(&["ci.example"])), Ok(200));
    assert_eq!(called(&old, Some(&["other.example"])), Ok(401), "no rule knows this one");
    assert_eq!(called(&old, None), Ok(401));
    assert_eq!(called(&new, None), Err(()));

    // A key that is not the certificate's is refused, and the old pair is shown as before.
    let (certificate, key) = pair(&new, &["localhost"]);
    std::fs::write(place.path().join("server.pem"), &certificate).unwrap();
    served.signal(rustix::process::Signal::HUP);
    assert!(log.line_with("was refused").contains("TLS_UNUSABLE"));
    assert_eq!(called(&old, Some(&["ci.example"])), Ok(200));
    std::fs::write(place.path().join("server.key"), &key).unwrap();
    served.signal(rustix::process::Signal::HUP);
    log.line_with("read again and holds");
    assert_eq!((called(&new, Some(&["ci.example"])), called(&old, None)), (Ok(200), Err(())));
    served.stop();
}

#[test]
fn an_mcp_client_is_led_to_the_issuer_by_the_scheme_that_it_came_by() {
    let authority = Authority::new("ours");
    let (certificate, key) = pair(&authority, &["localhost"]);
    let jwt = "[access.jwt]\nissuer = \"https://login.example\"\nsecret_file = \"secret\"\n";
    let (plain, _) = SECURED.split_once("[tls]").unwrap();
    let (_, tls) = SECURED.split_once("[tls]").unwrap();
    let (tls, _) = tls.split_once("[access").unwrap();
    let place = Place::new().with("secret", &"s".repeat(64)).with("server.pem", &certificate).with("server.key", &key);
    std::fs::create_dir(place.path().join("served")).unwrap();
    let trusted = reqwest::Certificate::from_pem(authority.pem.as_bytes()).unwrap();
    let client = reqwest::blocking::Client::builder().tls_certs_only([trusted]).build().unwrap();
    let resource = |config: &str, proto: &str| {
        std::fs::write(place.path().join("redress.toml"), config).unwrap();
        let served = Served::start(&mut place.command(&["serve", "redress.toml", "--json"]));
        let url = served.url().replace("127.0.0.1", "localhost");
        let refused = client.post(format!("{url}/mcp")).header("content-type", "application/json");
        let refused = refused.header("x-forwarded-proto", proto).body("{}").send().unwrap();
        assert_eq!(refused.status(), 401);
        let challenge = refused.headers()["www-authenticate"].to_str().unwrap().to_owned();
        let about = client.get(format!("{url}/.well-known/oauth-protected-resource/mcp"));
        let about = about.header("x-forwarded-proto", proto).send().unwrap().text().unwrap();
        let about: serde_json::Value = serde_json::from_str(&about).unwrap();
        assert_eq!(about["authorization_servers"], json!(["https://login.example"]), "{about}");
        let resource = about["resource"].as_str().unwrap().to_owned();
        let base = resource.strip_suffix("/mcp").unwrap();
        assert!(challenge.contains(&format!("\"{base}/.well-known/")), "{challenge} is not at {base}");
        served.stop();
        resource.replace(&url, "URL").replace(&url.replace("http:", "https:"), "SECURE")
    };
    assert_eq!(resource(&format!("{plain}{jwt}"), "https"), "URL/mcp", "nobody who is trusted says so");
    assert_eq!(resource(&format!("{plain}{jwt}[tls]{tls}"), "http"), "URL/mcp");
    let proxied = format!("{plain}{jwt}[http]\ntrusted_proxies = [\"127.0.0.1/32\"]\n");
    assert_eq!(resource(&proxied, "https"), "SECURE/mcp");
    let named = proxied.replace("[serve]\n", "[serve]\nurl = \"https://api.example/deep/\"\n");
    assert_eq!(resource(&named, "http"), "https://api.example/deep/mcp");
}

#[test]
fn a_file_without_authorities_is_told() {
    let place = Place::new();
    for (file, says) in [("notes.md", "it holds no certificate in PEM form"), ("none.pem", "No such file or directory")]
    {
        let ran = place.run(&["ops", "--server", "https://localhost:1", "--ca", file, "--json"]);
        assert_eq!((ran.code, &ran.json()["code"]), (2, &json!("FILE_UNREADABLE")));
        assert!(ran.json()["error"].as_str().unwrap().ends_with(says), "{}", ran.seen());
    }
}

#[test]
fn plain_http_needs_no_authorities() {
    let place = Place::new().with("empty.pem", "");
    let served = Served::start(&mut place.command(&["serve", "--listen", "127.0.0.1:0", "--json"]));
    let url = served.screen()["url"].as_str().unwrap().to_owned();
    let mut command = place.command(&["ops", "--server", &url]);
    let ran = Ran::of(command.env("SSL_CERT_FILE", place.path().join("empty.pem")).env("SSL_CERT_DIR", "/nowhere"));
    assert_eq!(ran.code, 0, "{}", ran.seen());
    served.stop();
}
