//! Keys at a URL, given by a real server.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{Router, body::Body, extract::State, http::StatusCode, response::Response, routing::get};
use redress_access::{AccessError, AccessOptions, Authenticator, JwtOptions, KeySource};
use redress_core::{IdentityError, IdentityProvider as _, Secret};
use serde_json::json;
use tokio::{net::TcpListener, sync::Notify, task::JoinHandle};

use crate::{
    faces::Site,
    signing::{self, Key},
};

/// A server that gives a set of keys.
struct Issuer {
    url: String,
    state: Arc<Given>,
    server: JoinHandle<()>,
}

#[derive(Default)]
struct Given {
    answer: Mutex<(u16, String)>,
    asked: AtomicUsize,
    told: Notify,
    /// While it is held, nobody is answered.
    gate: tokio::sync::RwLock<()>,
}

impl Issuer {
    async fn start(body: String) -> Issuer {
        let state = Arc::new(Given { answer: Mutex::new((200, body)), ..Given::default() });
        let app = Router::new().route("/jwks", get(answer)).with_state(Arc::clone(&state));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/jwks", listener.local_addr().unwrap());
        let server = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Issuer { url, state, server }
    }

    fn gives(&self, status: u16, body: String) {
        *self.state.answer.lock().unwrap() = (status, body);
    }

    fn asked(&self) -> usize {
        self.state.asked.load(Ordering::SeqCst)
    }

    /// Waits until somebody has asked for the keys.
    async fn is_asked(&self) {
        tokio::time::timeout(Duration::from_secs(30), self.state.told.notified())
            .await
            .expect("somebody asks for keys");
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn answer(State(state): State<Arc<Given>>) -> Response {
    state.asked.fetch_add(1, Ordering::SeqCst);
    state.told.notify_one();
    let _open = state.gate.read().await;
    let (status, body) = state.answer.lock().unwrap().clone();
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    if status == 302 {
        response.headers_mut().insert("location", "/jwks".parse().unwrap());
    }
    response
}

const LONG: Duration = Duration::from_secs(3600);

fn open(url: &str, change: impl FnOnce(&mut JwtOptions)) -> Arc<Authenticator> {
    let mut jwt = JwtOptions::new(KeySource::JwksUrl(url.to_owned()));
    jwt.audience = vec!["https://api.example".into()];
    jwt.refresh = LONG;
    jwt.pause = LONG;
    change(&mut jwt);
    let mut options = AccessOptions::default();
    options.jwt = Some(jwt);
    Authenticator::open(options).unwrap()
}

/// Lets time pass, which nobody waits for.
async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

fn token(key: &Key) -> Secret {
    Secret::new(key.token(key.algorithms[0], &signing::claims()))
}

/// Why it is not known whom a token stands for.
#[track_caller]
fn cannot_tell(told: Result<redress_core::contract::Caller, IdentityError>) -> String {
    let Err(IdentityError::Unavailable { source }) = told else { panic!("{told:?}") };
    source.to_string().rsplit_once("could not be fetched: ").map(|(_, reason)| reason.to_owned()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn while_keys_cannot_be_fetched_every_face_says_so_and_no_token_is_blamed() {
    let (key, other) = (Key::p256("one"), Key::p256("other"));
    let issuer = Issuer::start(signing::set([&key])).await;
    issuer.gives(500, String::new());
    let access = open(&issuer.url, |_| {});
    let site = Site::start(Arc::clone(&access)).await;
    let bearer = |key: &Key| format!("Bearer {}", token(key).expose());
    let unavailable = async |authorization: &str| {
        for told in site.ask(Some(authorization)).await {
            assert_eq!(told.code.as_deref(), Some("UPSTREAM_UNREACHABLE"), "{}: {}", told.face, told.all);
            let failure = &told.failure;
            let advice = (&failure["retryable"], &failure["retry"], &failure["recovery"]["verb"], &failure["details"]);
            let (yes, details) = (json!(true), json!({"identity": "unavailable"}));
            assert_eq!(advice, (&yes, &json!("safe"), &json!("wait"), &details), "{}: {}", told.face, told.all);
            assert!(told.challenge.as_ref().is_none_or(Option::is_none), "{}: {}", told.face, told.all);
        }
    };
    unavailable(&bearer(&key)).await;
    // What no key could make good is nobody's all the same.
    for told in site.ask(Some("Bearer nonsense")).await {
        assert_eq!(told.code.as_deref(), Some("AUTH_REQUIRED"), "{}: {}", told.face, told.all);
    }
    // With keys it is known whose it is, and a token of another key is nobody's while there is nothing newer to fetch.
    issuer.gives(200, signing::set([&key]));
    access.fetch().await.unwrap();
    assert!(access.identify(&token(&key)).await.is_ok());
    assert_eq!(access.identify(&token(&other)).await, Err(IdentityError::Invalid));
    // Once the issuer is away again, the keys that are there go on serving, and of another nobody can tell.
    issuer.gives(500, String::new());
    assert!(access.fetch().await.is_err());
    assert!(access.identify(&token(&key)).await.is_ok());
    unavailable(&bearer(&other)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_token_has_the_keys_fetched_and_all_that_come_with_it_wait_for_that() {
    let key = Key::p256("one");
    let issuer = Issuer::start(signing::set([&key])).await;
    let access = open(&issuer.url, |_| {});
    assert_eq!(issuer.asked(), 0);
    let held = issuer.state.gate.write().await;
    let asking: Vec<_> = (0..20)
        .map(|_| {
            let (access, token) = (Arc::clone(&access), token(&key));
            tokio::spawn(async move { access.identify(&token).await.map(|caller| caller.id().to_owned()) })
        })
        .collect();
    issuer.is_asked().await;
    drop(held);
    for asked in asking {
        assert_eq!(asked.await.unwrap().as_deref(), Ok("ada"));
    }
    assert_eq!(issuer.asked(), 1);
}

#[tokio::test]
async fn a_new_key_is_fetched_when_a_token_names_it_and_an_old_one_ends() {
    let (old, new) = (Key::p256("old"), Key::ed25519("new"));
    let issuer = Issuer::start(signing::set([&old])).await;
    let access = open(&issuer.url, |jwt| jwt.pause = Duration::ZERO);
    let (by_old, by_new) = (token(&old), token(&new));
    access.fetch().await.unwrap();
    assert!(access.identify(&by_old).await.is_ok() && access.known(by_old.expose().as_bytes()).is_some());
    issuer.gives(200, signing::set([&new]));
    assert!(access.identify(&by_new).await.is_ok());
    assert!(access.known(by_old.expose().as_bytes()).is_none(), "what the old key verified is forgotten");
    assert_eq!(access.identify(&by_old).await, Err(IdentityError::Invalid));
}

#[tokio::test]
async fn tokens_of_strangers_cause_no_flood() {
    let (key, stranger) = (Key::p256("one"), Key::p256("stranger"));
    let issuer = Issuer::start(signing::set([&key])).await;
    let access = open(&issuer.url, |_| {});
    assert!(access.identify(&token(&key)).await.is_ok());
    for index in 0..200 {
        let header = serde_json::json!({"alg": "ES256", "kid": format!("made up {index}")});
        let made_up = stranger.with_header(&header, stranger.algorithms[0], &signing::claims());
        assert_eq!(access.identify(&Secret::new(made_up)).await, Err(IdentityError::Invalid));
    }
    assert_eq!(issuer.asked(), 1, "the pause has not passed");
}

#[tokio::test]
async fn callers_who_leave_break_off_no_fetch_and_cause_no_second_one() {
    let (key, stranger) = (Key::p256("one"), Key::p256("stranger"));
    let issuer = Issuer::start(signing::set([&key])).await;
    let access = open(&issuer.url, |_| {});
    let held = issuer.state.gate.write().await;
    for index in 0..20 {
        let header = serde_json::json!({"alg": "ES256", "kid": format!("made up {index}")});
        let made_up = Secret::new(stranger.with_header(&header, stranger.algorithms[0], &signing::claims()));
        let leaves = async { if index == 0 { issuer.is_asked().await } else { tokio::task::yield_now().await } };
        tokio::select! {
            biased;
            told = access.identify(&made_up) => panic!("nobody has answered yet: {told:?}"),
            () = leaves => {}
        }
    }
    drop(held);
    // The fetch that a stranger has caused serves everybody who comes after.
    assert!(access.identify(&token(&key)).await.is_ok());
    assert_eq!(issuer.asked(), 1);
}

#[tokio::test]
async fn old_keys_serve_while_newer_ones_are_fetched() {
    let key = Key::p256("one");
    let issuer = Issuer::start(signing::set([&key])).await;
    let access = open(&issuer.url, |jwt| (jwt.refresh, jwt.pause) = (LONG, Duration::ZERO));
    access.fetch().await.unwrap();
    issuer.is_asked().await;
    pass(LONG * 3 / 2).await;
    // Whoever gives keys answers nothing now, and the token is verified all the same.
    let held = issuer.state.gate.write().await;
    assert!(access.identify(&token(&key)).await.is_ok());
    issuer.is_asked().await;
    drop(held);
    assert_eq!(issuer.asked(), 2);
}

#[tokio::test]
async fn keys_of_long_ago_count_only_where_newer_ones_cannot_be_had() {
    let (old, new) = (Key::p256("old"), Key::p256("new"));
    let issuer = Issuer::start(signing::set([&old])).await;
    let access = open(&issuer.url, |jwt| jwt.pause = Duration::ZERO);
    let (by_old, by_new) = (token(&old), token(&new));
    assert!(access.identify(&by_old).await.is_ok());
    // Overnight, nobody calls, and the issuer withdraws a key.
    issuer.gives(200, signing::set([&new]));
    pass(LONG * 2).await;
    assert_eq!(access.identify(&by_old).await, Err(IdentityError::Invalid));
    assert!(access.identify(&by_new).await.is_ok());
    issuer.gives(500, String::new());
    pass(LONG * 2).await;
    let asked = issuer.asked();
    assert!(access.identify(&by_new).await.is_ok(), "the issuer is away, and its keys go on serving");
    assert_eq!(issuer.asked(), asked + 1);
}

#[tokio::test]
async fn a_key_that_was_exchanged_is_fetched_for_a_token_that_names_none() {
    let (old, new) = (Key::p256("old"), Key::p256("new"));
    let nameless = |key: &Key| {
        let header = serde_json::json!({"alg": "ES256"});
        Secret::new(key.with_header(&header, key.algorithms[0], &signing::claims()))
    };
    let unnamed = |key: &Key| {
        let mut jwk = key.jwk();
        jwk.as_object_mut().unwrap().remove("kid");
        serde_json::json!({"keys": [jwk]}).to_string()
    };
    let issuer = Issuer::start(unnamed(&old)).await;
    let access = open(&issuer.url, |jwt| jwt.pause = Duration::ZERO);
    assert!(access.identify(&nameless(&old)).await.is_ok());
    issuer.gives(200, unnamed(&new));
    assert!(access.identify(&nameless(&new)).await.is_ok());
    // So is one for a token that names it, where the set has no names.
    issuer.gives(200, unnamed(&old));
    assert!(access.identify(&token(&old)).await.is_ok());
    assert_eq!(issuer.asked(), 3);
}

#[tokio::test]
async fn a_bad_signature_of_a_key_that_is_known_causes_no_fetch() {
    let (key, stranger) = (Key::p256("one"), Key::p256("one"));
    let issuer = Issuer::start(signing::set([&key])).await;
    let access = open(&issuer.url, |jwt| jwt.pause = Duration::ZERO);
    assert!(access.identify(&token(&key)).await.is_ok());
    assert_eq!(access.identify(&token(&stranger)).await, Err(IdentityError::Invalid));
    assert_eq!(issuer.asked(), 1);
}

#[tokio::test]
async fn keys_stay_in_use_while_their_url_answers_nonsense_or_nothing() {
    let key = Key::p256("one");
    let issuer = Issuer::start(signing::set([&key])).await;
    let access = open(&issuer.url, |_| {});
    access.fetch().await.unwrap();
    let by_key = token(&key);
    let reason = async || {
        let error = access.fetch().await.unwrap_err();
        let AccessError::Unreachable { reason, .. } = error else { panic!("{error}") };
        reason
    };
    // What may be a secret in the URL is told to nobody.
    let secret = open(&issuer.url.replace("http://", "http://us:word@").replace("/jwks", "/jwks?key=word"), |_| {});
    for body in ["nonsense", r#"{"keys": []}"#] {
        issuer.gives(200, body.to_owned());
        let error = secret.fetch().await.unwrap_err();
        assert!(!format!("{error} {error:?}").contains("word"), "{error:?}");
    }
    issuer.gives(500, "{}".to_owned());
    let error = secret.fetch().await.unwrap_err();
    let said = format!("the keys at `{}` could not be fetched: the answer is not a success", issuer.url);
    assert_eq!(error.to_string(), said);
    assert!(!format!("{error:?}").contains("word"), "{error:?}");
    assert_eq!(reason().await, "the answer is not a success");
    issuer.gives(302, "{}".to_owned());
    assert_eq!(reason().await, "the answer is not a success");
    issuer.gives(200, " ".repeat(1024 * 1024 + 1));
    assert_eq!(reason().await, "the answer is too large");
    issuer.gives(200, "nonsense".to_owned());
    assert!(matches!(access.fetch().await, Err(AccessError::KeysMalformed { .. })));
    issuer.gives(200, r#"{"keys": []}"#.to_owned());
    assert!(matches!(access.fetch().await, Err(AccessError::KeysMissing { .. })));
    // A secret that everybody can read is none.
    issuer.gives(200, signing::set([&Key::secret("hs")]));
    assert!(matches!(access.fetch().await, Err(AccessError::KeysMissing { .. })));
    assert!(access.identify(&by_key).await.is_ok());
    issuer.server.abort();
    while TcpListener::bind(issuer.url.trim_start_matches("http://").trim_end_matches("/jwks")).await.is_err() {
        tokio::task::yield_now().await;
    }
    assert_eq!(reason().await, "there is no connection");
    assert!(access.identify(&by_key).await.is_ok());
}

#[tokio::test]
async fn a_fetch_that_takes_too_long_is_given_up_and_not_tried_again_at_once() {
    let key = Key::p256("one");
    let issuer = Issuer::start(signing::set([&key])).await;
    let access = open(&issuer.url, |jwt| jwt.fetch_time = Duration::from_millis(50));
    let held = issuer.state.gate.write().await;
    for _ in 0..10 {
        assert_eq!(cannot_tell(access.identify(&token(&key)).await), "it took too long");
    }
    assert_eq!(issuer.asked(), 1, "nobody waits a second time before the pause has passed");
    drop(held);
    access.fetch().await.unwrap();
    assert!(access.identify(&token(&key)).await.is_ok());
}

/// A server that answers each request in a way of its own.
fn odd(answer: fn(&mut std::net::TcpStream)) -> String {
    use std::io::Read as _;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/jwks", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            std::thread::spawn(move || {
                let _ = stream.read(&mut [0; 1024]);
                answer(&mut stream);
            });
        }
    });
    url
}

#[tokio::test]
async fn an_issuer_that_hangs_trickles_or_floods_costs_the_time_of_one_fetch() {
    use std::{io::Write as _, thread::park_timeout};
    const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
    type Answers = fn(&mut std::net::TcpStream);
    let odds: [(&str, Answers); 6] = [
        ("hangs", |_| park_timeout(LONG)),
        ("slow headers", |stream| {
            while stream.write_all(b"H").is_ok() {
                park_timeout(Duration::from_millis(20))
            }
        }),
        ("slow body", |stream| {
            let _ = stream.write_all(&[HEAD, b"\r\n{\"keys\":["].concat());
            while stream.write_all(b" ").is_ok() {
                park_timeout(Duration::from_millis(20));
            }
        }),
        ("endless body", |stream| {
            let _ = stream.write_all(&[HEAD, b"\r\n"].concat());
            while stream.write_all(&[b' '; 65536]).is_ok() {}
        }),
        ("a length that is a lie", |stream| {
            drop(stream.write_all(&[HEAD, b"content-length: 18446744073709551615\r\n\r\n{}"].concat()))
        }),
        ("no HTTP", |stream| drop(stream.write_all(&[0x15, 3, 1, 0, 2, 2, 40]))),
    ];
    for (how, answer) in odds {
        let access = open(&odd(answer), |jwt| jwt.fetch_time = Duration::from_millis(300));
        let fetched = tokio::time::timeout(Duration::from_secs(30), access.fetch()).await.expect(how);
        assert!(matches!(fetched, Err(AccessError::Unreachable { .. })), "{how}: {fetched:?}");
        // Nor does a token cause a second one before the pause has passed.
        let token = token(&Key::p256("one"));
        let reason = cannot_tell(access.identify(&token).await);
        assert!(!reason.is_empty(), "{how}");
    }
}

#[tokio::test]
async fn a_set_of_more_keys_than_an_issuer_needs_is_refused() {
    let key = Key::p256("one");
    let issuer = Issuer::start(signing::set([&key])).await;
    let access = open(&issuer.url, |_| {});
    access.fetch().await.unwrap();
    issuer.gives(200, format!("{{\"keys\":[{}{{}}]}}", "{},".repeat(100_000)));
    let error = access.fetch().await.unwrap_err();
    assert!(matches!(error, AccessError::KeysMany { max: 1_000, .. }), "{error}");
    assert!(access.identify(&token(&key)).await.is_ok(), "the keys that were fetched last stay in use");
}

#[test]
fn keys_are_not_taken_by_a_way_on_which_they_could_be_exchanged() {
    for url in ["http://login.example/jwks", "ftp://login.example/jwks", "login.example"] {
        let mut options = AccessOptions::default();
        options.jwt = Some(JwtOptions::new(KeySource::JwksUrl(url.into())));
        let error = Authenticator::open(options).unwrap_err();
        assert!(matches!(error, AccessError::UrlUnsafe { .. } | AccessError::UrlMalformed), "{url}: {error}");
    }
}
