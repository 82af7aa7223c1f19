//! The service, with everything switched on, and all that it leaves behind.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use jsonwebtoken::{EncodingKey, Header};
use redress_access::{NewToken, TokenFile};
use redress_core::testing::Canary;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader},
    process::{Child, ChildStdout, Command},
    task::JoinHandle,
    time::timeout,
};

use super::collector::Collector;

/// Longer than anything here takes.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// What an operation hides from its callers and not from the log, and what a wrong configuration says.
pub(crate) const HIDDEN: [&str; 5] = ["cause", "declared", "panic", "stream", "configuration"];

/// What a caller may come with.
pub(crate) struct Credential {
    pub(crate) name: &'static str,
    pub(crate) token: Option<String>,
    pub(crate) certificate: bool,
}

/// A running service.
pub(crate) struct House {
    folder: TempDir,
    child: Child,
    stdout: BufReader<ChildStdout>,
    log: Arc<Mutex<Vec<u8>>>,
    logging: JoinHandle<()>,
    collector: Collector,
    pub(crate) address: String,
    pub(crate) credentials: Vec<Credential>,
    pub(crate) hidden: BTreeMap<&'static str, String>,
    /// What inputs hold.
    pub(crate) input: String,
    pub(crate) ca: rcgen::Certificate,
    pub(crate) identity: String,
}

/// The program of the examples, which cargo builds with the tests.
fn program() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    tests.parent().and_then(Path::parent).unwrap().join("examples/canary")
}

impl House {
    pub(crate) async fn start(log_level: &[&str], nowhere: &Canary, log_alone: &Canary, named: &Canary) -> House {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let (collector, otlp) = Collector::start().await;
        let mut hidden: BTreeMap<&str, String> =
            HIDDEN.into_iter().map(|what| (what, log_alone.plant(&format!("the {what} of an operation")))).collect();
        // The last five are inside of causes, which the log tells without them.
        for what in ["undeclared", "output", "query", "password", "row", "header", "token"] {
            hidden.insert(what, nowhere.plant(&format!("the {what} of an operation")));
        }
        fs::write(at("markers.json"), json!(hidden).to_string()).unwrap();

        let tokens = TokenFile::at(at("tokens.json"));
        let caller = named.plant("the name of a caller");
        let token = |new: NewToken| tokens.create(new).unwrap();
        let (good, _) = token(NewToken::new(&caller).scopes(["hide:deep", "metrics:read", "consent:grant"]));
        let (plain, _) = token(NewToken::new("plain").scopes(["consent:grant"]));
        let (expired, _) = token(NewToken::new("late").expires(SystemTime::now() - Duration::from_secs(60)));
        let (revoked, entry) = token(NewToken::new("gone"));
        tokens.revoke(&entry.id).unwrap();
        let secret = nowhere.plant("the secret shared with the issuer");
        fs::write(at("issuer.secret"), &secret).unwrap();
        let jwt = |claims: &Value, key: &str| {
            let key = EncodingKey::from_secret(key.as_bytes());
            jsonwebtoken::encode(&Header::default(), claims, &key).unwrap()
        };
        let claims = json!({"iss": "test", "aud": "canary", "sub": "jay", "exp": 4_000_000_000_u64});
        let stale = json!({"iss": "test", "aud": "canary", "sub": "jay", "exp": 1_000_000_000_u64});
        let other = nowhere.plant("another secret");
        let credential = |name, token: Option<&str>| {
            if let Some(token) = token {
                // Not the part that tells which token it is, which lists and records may show.
                nowhere.watch(&format!("the token of {name}"), &token[token.len().saturating_sub(30)..]);
            }
            Credential { name, token: token.map(str::to_owned), certificate: false }
        };
        let strange = nowhere.plant("a token that is none");
        let credentials = vec![
            credential("a token", Some(good.expose())),
            credential("a token without scopes", Some(plain.expose())),
            credential("an expired token", Some(expired.expose())),
            credential("a revoked token", Some(revoked.expose())),
            credential("a JSON Web Token", Some(&jwt(&claims, &secret))),
            credential("a JSON Web Token that has expired", Some(&jwt(&stale, &secret))),
            credential("a JSON Web Token of somebody else", Some(&jwt(&claims, &other))),
            credential("a token that is none", Some(&strange)),
            credential("nothing", None),
            Credential { name: "a certificate", token: None, certificate: true },
        ];

        let (ca, identity) = certificates(folder.path());
        fs::write(at("redress.toml"), configuration(&otlp.to_string())).unwrap();
        let mut child = Command::new(program())
            .args(["--json", "serve", "redress.toml", "--listen", "127.0.0.1:0"])
            .args(log_level)
            .current_dir(folder.path())
            .env("CANARY_MARKERS", at("markers.json"))
            .env("RUST_BACKTRACE", "0")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the program of the examples is built with the tests");
        let mut stderr = child.stderr.take().unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&log);
        let logging = tokio::spawn(async move {
            let mut some = [0; 8192];
            while let Ok(read @ 1..) = stderr.read(&mut some).await {
                kept.lock().unwrap().extend_from_slice(&some[..read]);
            }
        });
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        timeout(SOON, stdout.read_line(&mut first)).await.expect("the service starts").unwrap();
        let first: Value = serde_json::from_str(&first).unwrap_or_else(|_| panic!("it says where it is: {first}"));
        let address = first["url"].as_str().and_then(|url| url.split_once("://")).unwrap().1.to_owned();
        House {
            child,
            stdout,
            log,
            logging,
            collector,
            address,
            credentials,
            hidden,
            input: nowhere.plant("an input"),
            ca,
            identity,
            folder,
        }
    }

    /// A client with this credential, which trusts the service.
    pub(crate) fn client(&self, credential: &Credential) -> reqwest::Client {
        let ca = reqwest::Certificate::from_der(self.ca.der()).unwrap();
        // Another crate of the same build may want a client that unpacks by itself, and what was packed is looked at here.
        let builder = reqwest::Client::builder().no_gzip().no_brotli();
        let mut builder = builder.tls_certs_only([ca]);
        if credential.certificate {
            builder = builder.identity(reqwest::Identity::from_pem(self.identity.as_bytes()).unwrap());
        }
        builder.build().unwrap()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.address)
    }

    /// Stops the service in an orderly way and gathers every byte that it let out, by its place.
    pub(crate) async fn stop_and_gather(mut self, mut places: Vec<(String, Vec<u8>)>) -> Vec<(String, Vec<u8>)> {
        // A configuration that is wrong is refused, and what is said about it leaves by every exporter too.
        let path = self.folder.path().join("redress.toml");
        let wrong = fs::read_to_string(&path).unwrap().replace("1000/s", &self.hidden["configuration"]);
        fs::write(&path, wrong).unwrap();
        let pid = Pid::from_raw(i32::try_from(self.child.id().unwrap()).unwrap()).unwrap();
        kill_process(pid, Signal::HUP).unwrap();
        let refused = async {
            while !String::from_utf8_lossy(&self.log.lock().unwrap()).contains("the new configuration was refused") {
                tokio::task::yield_now().await;
            }
        };
        timeout(SOON, refused).await.expect("the configuration is refused");
        kill_process(pid, Signal::TERM).unwrap();
        let status = timeout(SOON, self.child.wait()).await.expect("it stops when told to").unwrap();
        self.logging.await.unwrap();
        let log = std::mem::take(&mut *self.log.lock().unwrap());
        assert!(status.success(), "{}", String::from_utf8_lossy(&log));
        let mut said = Vec::from("stdout:");
        self.stdout.read_to_end(&mut said).await.unwrap();
        places.push(("stdout".to_owned(), said));
        places.push(("the log".to_owned(), log));
        for (place, path) in [("traces", "/v1/traces"), ("metrics", "/v1/metrics"), ("logs", "/v1/logs")] {
            places.push((format!("OTLP {place}"), self.collector.sent_to(path)));
        }
        let read = |name: &str| fs::read(self.folder.path().join(name)).unwrap_or_default();
        places.push(("the access log".to_owned(), read("access.log")));
        places.push(("the token file".to_owned(), read("tokens.json")));
        let state = fs::read_dir(self.folder.path().join("state")).unwrap();
        let state = state.flat_map(|file| fs::read(file.unwrap().path()).unwrap_or_default()).collect();
        places.push(("the state".to_owned(), state));
        places
    }
}

fn configuration(otlp: &str) -> String {
    format!(
        r#"
[access]
tokens = "tokens.json"
[access.jwt]
issuer = "test"
audience = "canary"
secret_file = "issuer.secret"
[access.certificates]
ca = "ca.pem"
callers = [{{ name = "client.test", caller = "cert", scopes = ["hide:deep", "consent:grant"] }}]
[state]
folder = "state"
sync = "normal"
[audit]
enabled = true
[limits]
rate = "1000/s"
burst = 1000
in_flight = 64
streams = 8
sockets = 16
connections = 500
shed = true
json_depth = 16
json_members = 64
rules = [{{ operations = ["hide.rare"], rate = "1/h", burst = 1 }}]
[tls]
certificate = "server.pem"
key = "server.key"
[http]
compression = true
cors_origins = ["https://app.test"]
trusted_proxies = ["127.0.0.1/32"]
[telemetry]
metrics = true
otlp = "http://{otlp}"
service = "canary"
access_log = "access.log"
"#
    )
}

/// An authority, a certificate of the service in `folder`, and one for a client as PEM.
fn certificates(folder: &Path) -> (rcgen::Certificate, String) {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let ca = params.self_signed(&key).unwrap();
    let issuer = rcgen::Issuer::from_params(&params, &key);
    let issued = |name: &str| {
        let own = rcgen::KeyPair::generate().unwrap();
        let names = vec![name.to_owned()];
        (rcgen::CertificateParams::new(names).unwrap().signed_by(&own, &issuer).unwrap().pem(), own.serialize_pem())
    };
    let (server, server_key) = issued("127.0.0.1");
    for (file, text) in [("ca.pem", &ca.pem()), ("server.pem", &server), ("server.key", &server_key)] {
        fs::write(folder.join(file), text).unwrap();
    }
    let (client, client_key) = issued("client.test");
    (ca, format!("{client}{client_key}"))
}
