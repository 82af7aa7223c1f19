//! `POST /rpc`: JSON-RPC 2.0, one request or a batch of one.

use redress_core::contract::Kind;
use redress_wire::jsonrpc;
use serde_json::{Value, json};

use super::http;
use crate::table::{
    face::{Asking, Face},
    outcome::Outcome,
    rows::{Ask, Row},
    site::Site,
};

pub(crate) struct Rpc {
    pub(crate) in_batch: bool,
}

impl Rpc {
    fn message(&self, row: &Row) -> String {
        let request =
            format!(r#"{{"jsonrpc":"2.0","id":"a row","method":"{}","params":{}}}"#, row.operation, row.input);
        if self.in_batch { format!("[{request}]") } else { request }
    }
}

impl Face for Rpc {
    fn name(&self) -> &'static str {
        if self.in_batch { "/rpc batch" } else { "/rpc" }
    }

    fn carries(&self, row: &Row) -> bool {
        matches!(row.ask, Ask::Call | Ask::CallOfStream)
    }

    fn ask<'a>(&'a self, site: &'a Site, row: &'a Row) -> Asking<'a, Outcome> {
        Box::pin(async move {
            let answer = http::ask(self.name(), site, row, "/rpc", Some(&self.message(row))).await;
            assert_eq!(answer.status, 200, "{answer:?}");
            let mut response = answer.json();
            if self.in_batch {
                let [only] = <[Value; 1]>::try_from(response.as_array().unwrap().clone()).expect("one response");
                response = only;
            }
            assert_eq!((&response["jsonrpc"], &response["id"]), (&json!("2.0"), &json!("a row")));
            let Some(error) = response.get("error") else { return Outcome::output(response["result"].clone()) };
            let data = &error["data"];
            let kind = data["kind"].as_str().and_then(Kind::parse).expect("an envelope has a kind");
            assert_eq!((&error["code"], &error["message"]), (&json!(jsonrpc::number(kind)), &data["error"]));
            Outcome::envelope(data.clone())
        })
    }

    fn leave<'a>(&'a self, site: &'a Site, row: &'a Row) -> Asking<'a, Option<Outcome>> {
        Box::pin(async move { http::leave(site, row, "/rpc", Some(&self.message(row))).await })
    }
}
