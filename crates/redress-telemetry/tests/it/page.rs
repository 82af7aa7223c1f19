//! Who may read `/metrics`.

use redress_core::{IdentityError, IdentityProvider, Registry, Secret, contract::Caller};
use redress_serve::Faces;
use redress_telemetry::{CONTENT_TYPE, Metrics};
use tokio::net::TcpListener;

use crate::service;

/// Two callers, one of whom may read metrics.
struct Two;

impl IdentityProvider for Two {
    fn identify<'a>(
        &'a self,
        token: &'a Secret,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<Caller, IdentityError>> + Send + 'a>> {
        Box::pin(async move {
            match token.expose() {
                "reader" => Ok(Caller::new("prometheus").scope("metrics:read")),
                "other" => Ok(Caller::new("ada").scope("files:read")),
                _ => Err(IdentityError::Invalid),
            }
        })
    }
}

fn guarded() -> Registry {
    service::shop()
        .into_iter()
        .fold(Registry::builder().identity(Two), |builder, operation| builder.add(operation))
        .build()
        .expect("the shop is well declared")
}

fn faces(registry: Registry) -> Faces {
    let metrics = Metrics::new(registry.contract());
    Faces::new(registry).metrics(move || metrics.text())
}

/// Asks for the metrics, once.
async fn asked(faces: Faces, token: Option<&str>) -> (u16, String, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback works");
    let address = listener.local_addr().expect("loopback works");
    let server = tokio::spawn(faces.serve(listener, std::future::pending()));
    let mut request = reqwest::Client::new().get(format!("http://{address}/metrics"));
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    let answer = request.send().await.expect("loopback works");
    let status = answer.status().as_u16();
    let media = answer.headers()["content-type"].to_str().expect("loopback works").to_owned();
    let text = answer.text().await.expect("loopback works");
    server.abort();
    (status, media, text)
}

#[tokio::test]
async fn local_reads_the_metrics_where_no_access_is_configured() {
    let (status, media, text) = asked(faces(service::registry()), None).await;
    assert_eq!((status, &*media), (200, CONTENT_TYPE));
    assert!(text.contains("redress_build_info"), "{text}");
}

#[tokio::test]
async fn with_access_configured_only_a_caller_with_the_scope_reads_the_metrics() {
    let (status, _, text) = asked(faces(guarded()), Some("reader")).await;
    assert!(status == 200 && text.contains("redress_build_info"), "{text}");
    for (token, expected, code) in
        [(None, 401, "AUTH_REQUIRED"), (Some("wrong"), 401, "AUTH_REQUIRED"), (Some("other"), 403, "FORBIDDEN")]
    {
        let (status, _, text) = asked(faces(guarded()), token).await;
        assert_eq!(status, expected, "{text}");
        assert!(text.contains(code) && !text.contains("redress_build_info"), "{text}");
    }
    let (_, _, text) = asked(faces(guarded()), Some("other")).await;
    assert!(text.contains("metrics:read"), "{text}");
}

#[tokio::test]
async fn an_operator_may_open_the_metrics_to_everyone() {
    let (status, _, text) = asked(faces(guarded()).metrics_open(), None).await;
    assert!(status == 200 && text.contains("redress_build_info"), "{text}");
}

#[tokio::test]
async fn a_service_without_metrics_has_no_such_path() {
    let (status, _, _) = asked(Faces::new(service::registry()), None).await;
    assert_eq!(status, 404);
}
