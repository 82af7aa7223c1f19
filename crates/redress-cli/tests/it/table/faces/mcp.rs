//! `POST /mcp`: every operation as a tool, in both eras of the protocol.

use redress_wire::mcp::{ERROR_META, Era, LATEST_LEGACY, MODERN, header, method};
use serde_json::{Value, json};

use super::http;
use crate::table::{
    face::{Asking, Face},
    outcome::Outcome,
    rows::{Ask, Row},
    site::Site,
};

pub(crate) struct Mcp {
    pub(crate) era: Era,
}

impl Face for Mcp {
    fn name(&self) -> &'static str {
        match self.era {
            Era::Legacy => "/mcp legacy",
            Era::Modern => "/mcp",
        }
    }

    fn carries(&self, row: &Row) -> bool {
        carries(row)
    }

    fn ask<'a>(&'a self, site: &'a Site, row: &'a Row) -> Asking<'a, Outcome> {
        Box::pin(async move {
            let (message, tool) = (message(self.era, row), tool(row));
            let headers = headers(self.era, &tool);
            let answer = http::ask_with(self.name(), site, row, "/mcp", Some(&message), &headers).await;
            // No identity provider asks who calls here, so that no status has anything to say.
            assert_eq!(answer.status, 200, "{answer:?}");
            let response = answer.json();
            let (outcome, request_id) = outcome(self.era, row, &response);
            if let Some(request_id) = request_id {
                assert_eq!(answer.header("x-request-id"), Some(request_id.as_str()), "{answer:?}");
            }
            outcome
        })
    }

    fn leave<'a>(&'a self, site: &'a Site, row: &'a Row) -> Asking<'a, Option<Outcome>> {
        Box::pin(async move {
            let (message, tool) = (message(self.era, row), tool(row));
            http::leave_with(site, row, "/mcp", Some(&message), &headers(self.era, &tool)).await
        })
    }
}

/// A tool has the shape that it has, and no name with a slash in it. That there is no such tool is an
/// error of the protocol and speaks of tools; the tests of the face itself look at it. What is for persons is no tool.
pub(super) fn carries(row: &Row) -> bool {
    let is_tool = !row.operation.contains('/') && row.code.as_deref() != Some("NOT_FOUND");
    is_tool && !row.is_for_persons() && matches!(row.ask, Ask::Call | Ask::Stream)
}

fn tool(row: &Row) -> String {
    row.operation.replace('.', "_")
}

fn headers(era: Era, tool: &str) -> Vec<(&'static str, &str)> {
    match era {
        Era::Legacy => vec![(header::PROTOCOL_VERSION, LATEST_LEGACY)],
        Era::Modern => {
            vec![(header::PROTOCOL_VERSION, MODERN), (header::METHOD, method::TOOLS_CALL), (header::NAME, tool)]
        }
    }
}

/// The message that asks for the call of a row, with the input as it is written there.
pub(super) fn message(era: Era, row: &Row) -> String {
    let mut meta = match era {
        Era::Legacy => json!({}),
        Era::Modern => json!({
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
        }),
    };
    if let Some(key) = row.key {
        meta["dev.redress/idempotency_key"] = key.into();
    }
    let (method, tool, input) = (method::TOOLS_CALL, tool(row), &row.input);
    format!(
        r#"{{"jsonrpc":"2.0","id":"a row","method":"{method}","params":{{"name":"{tool}","arguments":{input},"_meta":{meta}}}}}"#
    )
}

/// The outcome that a response tells, and the name of the call where the response has it.
pub(super) fn outcome(era: Era, row: &Row, response: &Value) -> (Outcome, Option<String>) {
    assert_eq!((&response["jsonrpc"], &response["id"]), (&json!("2.0"), &json!("a row")), "{response}");
    let result = &response["result"];
    assert_eq!(result.get("resultType"), (era == Era::Modern).then_some(&json!("complete")), "{response}");
    let text = |place: usize| result["content"][place]["text"].as_str().unwrap_or_else(|| panic!("{response}"));
    let structured = result.get("structuredContent");
    if result["isError"] == true {
        let envelope = &result["_meta"][ERROR_META];
        let (sentence, json) = text(0).split_once('\n').unwrap();
        assert_eq!(json!(sentence), envelope["error"], "the text begins with the sentence");
        let told: Value = serde_json::from_str(json).unwrap();
        for member in ["code", "hint", "retry", "retry_after_ms"] {
            assert_eq!(told.get(member), envelope.get(member), "the text is enough: {}", text(0));
        }
        let count = |list: &Value| list.as_array().map_or(0, Vec::len);
        assert_eq!(count(&told["next_actions"]), count(&envelope["next_actions"]), "{}", text(0));
        assert_eq!(structured, None, "the advertised schema is that of the output");
        let items = match result["content"].get(1) {
            Some(_) => serde_json::from_str::<Value>(text(1)).unwrap()["items"].as_array().unwrap().clone(),
            None => Vec::new(),
        };
        let request_id = envelope["_meta"]["request_id"].as_str().unwrap().to_owned();
        return (Outcome::envelope(envelope.clone()).after(items), Some(request_id));
    }
    let mut output: Value = serde_json::from_str(text(0)).unwrap();
    // The legacy era knows objects only.
    let is_structured = era == Era::Modern || output.is_object();
    assert_eq!(structured, is_structured.then_some(&output), "{response}");
    if !row.is_stream() {
        return (Outcome::output(output), None);
    }
    assert_eq!(output["complete"], true, "{response}");
    let items = output["items"].as_array_mut().map(std::mem::take).unwrap();
    (Outcome::completed().after(items), None)
}
