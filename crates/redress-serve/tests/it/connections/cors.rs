//! Web pages of other origins.

use redress_core::Registry;
use redress_serve::Faces;

use super::Served;
use crate::service::registry;

const APP: &str = "https://app.example";

async fn serve(origins: &[&str]) -> (Served, reqwest::Client) {
    let registry: Registry = registry(&Default::default(), &Default::default());
    let faces = Faces::new(registry).cors_origins(origins.iter().copied());
    let server = redress_serve::Server::new(faces).listen("127.0.0.1:0".parse().unwrap());
    (Served::of(server).await, reqwest::Client::new())
}

fn said<'a>(headers: &'a reqwest::header::HeaderMap, name: &str) -> &'a str {
    headers.get(name).map_or("", |value| value.to_str().unwrap())
}

#[tokio::test]
async fn a_preflight_is_answered_for_every_route_and_only_to_origins_that_may_call() {
    let (served, client) = serve(&[APP]).await;
    let routes = [
        ("/ops/demo/greet", "GET, HEAD, OPTIONS, POST"),
        ("/ops", "GET, HEAD, OPTIONS"),
        ("/call", "OPTIONS, POST"),
        ("/batch", "OPTIONS, POST"),
        ("/subscribe", "OPTIONS, POST"),
        ("/rpc", "OPTIONS, POST"),
        ("/mcp", "DELETE, GET, OPTIONS, POST"),
        ("/openapi.json", "GET, HEAD, OPTIONS"),
        ("/errors/TIMEOUT", "GET, HEAD, OPTIONS"),
    ];
    for (path, methods) in routes {
        for (origin, allowed) in [(APP, true), ("https://evil.example", false), ("null", false)] {
            let url = format!("http://{}{path}", served.tcp());
            let asked = client
                .request(reqwest::Method::OPTIONS, url)
                .header("origin", origin)
                .header("access-control-request-method", "POST")
                .header("access-control-request-headers", "content-type, idempotency-key");
            let answer = asked.send().await.unwrap();
            let headers = answer.headers();
            assert_eq!(answer.status(), 204, "{path}");
            let (origin, methods) = if allowed { (origin, methods) } else { ("", "") };
            assert_eq!(said(headers, "access-control-allow-origin"), origin, "{path}");
            assert_eq!(said(headers, "access-control-allow-methods"), methods, "{path}");
            assert_eq!(said(headers, "access-control-allow-headers").contains("idempotency-key"), allowed, "{path}");
            assert_eq!(said(headers, "vary"), "origin");
            assert!(!headers.contains_key("access-control-allow-credentials"));
        }
    }
    served.end().await;
}

#[tokio::test]
async fn a_page_that_may_call_sees_the_answer_and_its_headers() {
    let (served, client) = serve(&[APP]).await;
    let url = format!("http://{}/ops/demo/limited", served.tcp());
    let ask = async |origin: &str| client.post(&url).header("origin", origin).body("{}").send().await.unwrap();
    let answer = ask(APP).await;
    assert_eq!((answer.status().as_u16(), said(answer.headers(), "access-control-allow-origin")), (429, APP));
    let seen = said(answer.headers(), "access-control-expose-headers");
    assert!(seen.contains("x-request-id") && seen.contains("retry-after"), "{seen}");
    let answer = ask("https://evil.example").await;
    assert_eq!(said(answer.headers(), "access-control-allow-origin"), "");
    served.end().await;
}

#[tokio::test]
async fn without_origins_nothing_is_said_and_with_all_of_them_everyone_is_named() {
    for (origins, told) in [(&[][..], ""), (&["*"][..], "https://any.example")] {
        let (served, client) = serve(origins).await;
        let url = format!("http://{}/healthz", served.tcp());
        let answer = client.get(url).header("origin", "https://any.example").send().await.unwrap();
        assert_eq!(said(answer.headers(), "access-control-allow-origin"), told);
        served.end().await;
    }
}

#[tokio::test]
async fn pages_that_may_call_reach_mcp_too() {
    for (origins, origin, status) in [(APP, APP, 200), ("*", APP, 200), (APP, "https://evil.example", 403)] {
        let (served, client) = serve(&[origins]).await;
        let message = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
        let asked = client.post(format!("http://{}/mcp", served.tcp())).header("origin", origin).body(message);
        let answer = asked.header("content-type", "application/json").send().await.unwrap();
        assert_eq!(answer.status().as_u16(), status, "{origins} {origin}");
        served.end().await;
    }
}
