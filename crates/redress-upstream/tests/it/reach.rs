//! Where a call may lead, and where it may not.

use redress_upstream::{Upstream, UpstreamConfig, UpstreamError};
use serde_json::json;

use crate::mock::{Reply, Service, THINGS, call, config, imported, things};

#[tokio::test]
async fn a_redirect_is_followed_to_the_service_itself_and_nowhere_else() {
    let (elsewhere, other) = Service::start([Reply::json(200, &json!({"id": 66}))]).await;
    let (service, address) =
        Service::start([Reply::of(302, "", "").with("location", "/v2/things/1"), Reply::json(200, &json!({"id": 1}))])
            .await;
    let (registry, _) = things(config(address));
    let envelope = call(&registry, "things.get_thing", json!({"id": "1"})).await;
    assert_eq!(envelope["result"]["id"], 1, "{envelope}");
    assert_eq!(service.asked()[1].uri.path(), "/v2/things/1");
    for location in [format!("http://{other}/things/1"), format!("//{other}/"), "https://127.0.0.1/".to_owned()] {
        service.tell([Reply::of(302, "", "").with("location", location)]);
        let envelope = call(&registry, "things.get_thing", json!({"id": "1"})).await;
        assert_eq!(
            (&envelope["code"], &envelope["details"]["reason"]),
            (&json!("UPSTREAM_UNDECLARED"), &json!("redirect"))
        );
    }
    service.tell([Reply::of(307, "", "").with("location", "/elsewhere")]);
    let envelope = call(&registry, "things.remove_thing", json!({"id": "1"})).await;
    assert_eq!(envelope["code"], "UPSTREAM_UNDECLARED", "a mutation is not sent to another path");
    assert!(elsewhere.asked().is_empty());
}

#[test]
fn a_document_does_not_lead_to_metadata_services() {
    let with_server =
        |url: &str| imported(&THINGS.replacen("paths:", &format!("servers: [{{url: \"{url}\"}}]\npaths:"), 1));
    for url in [
        "http://169.254.169.254/latest",
        "http://[fe80::1]/",
        "http://[::ffff:169.254.169.254]/",
        "http://0xa9fea9fe/",
        "http://2852039166/",
        "http://100.100.100.200/",
        "http://0.0.0.0/",
        "ftp://example.com/",
        "file:///etc/passwd",
        "https://{host}/",
    ] {
        let error = Upstream::new(with_server(url), UpstreamConfig::new("a")).unwrap_err();
        assert!(matches!(error, UpstreamError::AddressUnsafe { .. } | UpstreamError::AddressMissing), "{url}: {error}");
    }
    // The operator's own word holds.
    let mut config = UpstreamConfig::new("a");
    config.base_url = Some("http://169.254.169.254/".to_owned());
    assert!(Upstream::new(with_server("https://example.com"), config).is_ok());
    assert_eq!(Upstream::new(imported(THINGS), UpstreamConfig::new("a")).unwrap_err(), UpstreamError::AddressMissing);
    let mut config = UpstreamConfig::new("a");
    config.document_url = Some("https://example.com/docs/openapi.yaml".to_owned());
    assert!(Upstream::new(with_server("/v1"), config).is_ok());
}
