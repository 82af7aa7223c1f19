//! The page at `/`.

use redress_core::{
    Operation, Registry,
    contract::{self, Access, FailureDeclaration, Kind, ProgramInfo, Recovery},
};
use redress_serve::Faces;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::service::{Answer, Running};

async fn serve() -> Running {
    let failure = FailureDeclaration::new("TICKET_NOT_FOUND", Kind::NotFound)
        .with_when("There is no such ticket.")
        .with_recovery(Recovery::stop("Nothing else can be done here."));
    let get = contract::OperationDeclaration::query("tickets.get")
        .with_summary("Read <b>one</b> ticket.")
        .with_access(Access::anyone())
        .fails(failure);
    let hidden =
        contract::OperationDeclaration::query("tickets.wipe").with_summary("Wipe.").with_access(Access::caller());
    let answers = |operation| Operation::dynamic(operation).with_handler(|_, _| async { Ok(json!(1)) });
    let info = ProgramInfo::new("helpdesk", "0.3.0").with_title("The <i>helpdesk</i>").with_description("Tickets.");
    let registry = Registry::builder().program(info).add(answers(get)).add(answers(hidden)).build().unwrap();
    let faces = Faces::new(registry).caller(redress_serve::Anonymous);
    Running::of(faces, Default::default(), Default::default()).await
}

#[tokio::test]
async fn a_browser_finds_faces_operations_codes_and_documents() {
    let running = serve().await;
    let page = Answer::of(&running, running.client.get(running.url("/")).header("accept", "text/html,*/*")).await;
    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
    for part in [
        "The &lt;i&gt;helpdesk&lt;/i&gt;",
        "Version 0.3.0.",
        "Tickets.",
        "POST /rpc",
        "href=\"/openapi.json\"",
        "tickets.get",
        "Read &lt;b&gt;one&lt;/b&gt; ticket.",
        "href=\"/errors/TICKET_NOT_FOUND\"",
    ] {
        assert!(page.text.contains(part), "{part} is not in\n{}", page.text);
    }
    assert!(!page.text.contains("tickets.wipe"), "an operation that this caller may not call is not shown");
    for link in page.text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        let answer = running.get(link).await;
        assert_eq!(answer.status, 200, "{link}");
    }
}

#[tokio::test]
async fn a_program_is_told_where_to_look_as_ever() {
    let running = serve().await;
    let answer = running.get("/").await;
    assert_eq!((answer.status, &answer.json()["code"]), (404, &json!("NOT_FOUND")));
    let answer = running.post("/", "{}").await;
    assert_eq!((answer.status, &answer.json()["code"]), (405, &json!("INVALID_OPERATION_TYPE")));
}

#[tokio::test]
async fn a_page_may_show_itself_and_do_nothing_else() {
    let running = serve().await;
    for path in ["/", "/errors", "/errors/TIMEOUT"] {
        let page = Answer::of(&running, running.client.get(running.url(path)).header("accept", "text/html")).await;
        let policy = page.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{path}: {policy}");
        assert!(!policy.contains("unsafe") && !page.text.contains("<script"), "{path}");
        let style = page.text.split("<style>").nth(1).and_then(|rest| rest.split("</style>").next()).unwrap();
        let hash = base64(&Sha256::digest(style));
        assert!(policy.contains(&format!("'sha256-{hash}'")), "{path}: the style is {hash}");
    }
}

#[tokio::test]
async fn documents_say_what_the_program_says_of_itself() {
    let running = serve().await;
    let openapi = running.get("/openapi.json").await.json();
    assert_eq!(openapi["info"], json!({"title": "The <i>helpdesk</i>", "version": "0.3.0", "description": "Tickets."}));
    let openrpc = running.get("/openrpc.json").await.json();
    assert_eq!(openrpc["info"]["version"], "0.3.0");
    #[cfg(feature = "mcp")]
    {
        let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
        }});
        let accept = [("accept", "application/json, text/event-stream")];
        let answer = running.post_with("/mcp", &asked.to_string(), &accept).await.json();
        let info = json!({
            "name": "helpdesk", "title": "The <i>helpdesk</i>", "version": "0.3.0", "description": "Tickets.",
        });
        assert_eq!(answer["result"]["serverInfo"], info, "{answer}");
    }
}

/// Bytes as browsers write a hash.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = (0..3).fold(0_usize, |bits, place| bits << 8 | usize::from(chunk.get(place).copied().unwrap_or(0)));
        for place in 0..4 {
            let letter = char::from(LETTERS[bits >> (18 - 6 * place) & 63]);
            text.push(if place <= chunk.len() { letter } else { '=' });
        }
    }
    text
}
