//! JSON-RPC messages: every edge of the specification, and hostile ones.

use redress_contract::Kind;
use redress_wire::jsonrpc::{self, Id, Member, RpcMessage, Unreadable};
use serde_json::{Value, json};

use crate::service::{failure, success};

const LIMIT: usize = 3;

/// What a body is read as, in one line.
fn told(body: &[u8]) -> String {
    let member = |member: &Member<'_>| match member {
        Member::Invalid(id) => format!("invalid({})", id.as_json()),
        Member::Call(call) => format!(
            "{}({}){}",
            call.method,
            String::from_utf8_lossy(call.params),
            call.id.map(|id| format!("#{}", id.as_json())).unwrap_or_default()
        ),
    };
    match jsonrpc::read(body, LIMIT) {
        Ok(RpcMessage::Single(one)) => member(&one),
        Ok(RpcMessage::Batch(many)) => format!("[{}]", many.iter().map(member).collect::<Vec<_>>().join(" ")),
        Err(Unreadable::NotJson) => "not JSON".to_owned(),
        Err(Unreadable::EmptyBatch) => "empty batch".to_owned(),
        Err(Unreadable::BatchTooLarge { limit }) => format!("more than {limit}"),
    }
}

#[test]
fn every_hostile_message_is_read_as_what_it_is() {
    let cases: &[(&str, &str)] = &[
        // What is not JSON.
        ("", "not JSON"),
        (" ", "not JSON"),
        ("{", "not JSON"),
        ("[", "not JSON"),
        ("nul", "not JSON"),
        ("{]", "not JSON"),
        (r#"{"jsonrpc":"2.0","method":"a.b","#, "not JSON"),
        (r#"{"jsonrpc":"2.0","method":"a.b"} {}"#, "not JSON"),
        (r#"{"jsonrpc":"2.0","method":"a.b"}x"#, "not JSON"),
        (r#"{'jsonrpc':'2.0'}"#, "not JSON"),
        (r#"{"jsonrpc":"2.0","method":"a.b",}"#, "not JSON"),
        (r#"[1,]"#, "not JSON"),
        ("{\"a\":\"\n\"}", "not JSON"),
        ("\u{feff}{}", "not JSON"),
        ("NaN", "not JSON"),
        ("01", "not JSON"),
        (r#"{"jsonrpc":"2.0","method":"a.b","params":{"x":tru}}"#, "not JSON"),
        // JSON, but no request.
        ("null", "invalid(null)"),
        ("1", "invalid(null)"),
        ("-1.5e3", "invalid(null)"),
        ("1e999", "invalid(null)"),
        ("true", "invalid(null)"),
        (r#""a""#, "invalid(null)"),
        ("{}", "invalid(null)"),
        (r#"{"foo":"boo"}"#, "invalid(null)"),
        (r#"{"method":"a.b","id":1}"#, "invalid(1)"),
        (r#"{"jsonrpc":"1.0","method":"a.b","id":1}"#, "invalid(1)"),
        (r#"{"jsonrpc":2.0,"method":"a.b","id":1}"#, "invalid(1)"),
        (r#"{"jsonrpc":null,"method":"a.b","id":1}"#, "invalid(1)"),
        (r#"{"jsonrpc":"2.0","id":1}"#, "invalid(1)"),
        (r#"{"jsonrpc":"2.0","method":1,"id":1}"#, "invalid(1)"),
        (r#"{"jsonrpc":"2.0","method":null,"id":"x"}"#, "invalid(\"x\")"),
        (r#"{"jsonrpc":"2.0","method":["a"],"id":1}"#, "invalid(1)"),
        (r#"{"jsonrpc":"2.0","method":{},"id":1}"#, "invalid(1)"),
        (r#"{"jsonrpc":"2.0","method":"\ud800","id":1}"#, "invalid(1)"),
        (r#"{"jsonrpc":"2.0","method":"a.b","id":true}"#, "invalid(null)"),
        (r#"{"jsonrpc":"2.0","method":"a.b","id":[1]}"#, "invalid(null)"),
        (r#"{"jsonrpc":"2.0","method":"a.b","id":{}}"#, "invalid(null)"),
        (r#"{"jsonrpc":"2.0","method":"a.b","id":"\udc00"}"#, "invalid(null)"),
        // Members that stand twice.
        (r#"{"jsonrpc":"2.0","method":"a.b","method":"c.d","id":1}"#, "invalid(1)"),
        (r#"{"jsonrpc":"2.0","method":"a.b","id":1,"id":2}"#, "invalid(null)"),
        (r#"{"jsonrpc":"2.0","jsonrpc":"2.0","method":"a.b","id":1}"#, "invalid(1)"),
        (r#"{"jsonrpc":"2.0","method":"a.b","params":{},"params":{},"id":1}"#, "invalid(1)"),
        (r#"{"jsonrpc":"2.0","method":"a.b","x":1,"x":2,"id":1}"#, "a.b()#1"),
        // Names that are something else when they are read.
        (r#"{"Jsonrpc":"2.0","method":"a.b","id":1}"#, "invalid(1)"),
        (r#"{"jsonrpc":"2.0","METHOD":"a.b","id":1}"#, "invalid(1)"),
        (r#"{"jsonrpc":"2.0","\u006dethod":"a.b","id":1}"#, "a.b()#1"),
        (r#"{"jsonrpc":"2.\u0030","method":"\u0061.b","id":1}"#, "a.b()#1"),
        (r#"{"jsonrpc":"2.0","method":"a.b","id":1,"\ud800":1}"#, "invalid(null)"),
        (r#"{"jsonrpc":"2.0","method":"a.b","id":1,"x":1e999}"#, "a.b()#1"),
        (r#"{"jsonrpc":"2.0","method":"a.b","id":1,"x":"\ud800"}"#, "a.b()#1"),
        // Every type of id, as it was written.
        (r#"{"jsonrpc":"2.0","method":"a.b","id":null}"#, "a.b()#null"),
        (r#"{"jsonrpc":"2.0","method":"a.b","id":0}"#, "a.b()#0"),
        (r#"{"jsonrpc":"2.0","method":"a.b","id":-0}"#, "a.b()#-0"),
        (r#"{"jsonrpc":"2.0","method":"a.b","id":1.50}"#, "a.b()#1.50"),
        (r#"{"jsonrpc":"2.0","method":"a.b","id":1e2}"#, "a.b()#1e2"),
        (r#"{"jsonrpc":"2.0","method":"a.b","id":98765432109876543210}"#, "a.b()#98765432109876543210"),
        (r#"{"jsonrpc":"2.0","method":"a.b","id":""}"#, "a.b()#\"\""),
        (r#"{"jsonrpc":"2.0","method":"a.b","id":"\u00e4\n"}"#, "a.b()#\"\\u00e4\\n\""),
        // Params go on as they are; what does not fit is the operation's to say.
        (r#"{"jsonrpc":"2.0","method":"a.b","params":[1, 2],"id":1}"#, "a.b([1, 2])#1"),
        (r#"{"jsonrpc":"2.0","method":"a.b","params":null,"id":1}"#, "a.b(null)#1"),
        (r#"{"jsonrpc":"2.0","method":"a.b","params":"bar","id":1}"#, "a.b(\"bar\")#1"),
        (r#"{"params":{"a":1},"id":1,"method":"a.b","jsonrpc":"2.0"}"#, "a.b({\"a\":1})#1"),
        (r#"{"jsonrpc":"2.0","method":"","id":1}"#, "()#1"),
        (r#"{"jsonrpc":"2.0","method":"a.b"}"#, "a.b()"),
        // Batches.
        ("[]", "empty batch"),
        ("[ ]", "empty batch"),
        ("[1]", "[invalid(null)]"),
        ("[1,2,3]", "[invalid(null) invalid(null) invalid(null)]"),
        ("[1,2,3,4]", "more than 3"),
        ("[1,2,3,4,", "not JSON"),
        ("[[]]", "[invalid(null)]"),
        ("[[[1],{}],null,\"a\"]", "[invalid(null) invalid(null) invalid(null)]"),
        ("[1e999]", "[invalid(null)]"),
        (r#"[{"jsonrpc":"2.0","method":"a.b","id":1},1e999,{"\ud800":1}]"#, "[a.b()#1 invalid(null) invalid(null)]"),
        (r#"[{"jsonrpc":"2.0","method":"a.b"},{"jsonrpc":"2.0","method":"a.b"}]"#, "[a.b() a.b()]"),
        (r#"[{"jsonrpc":"2.0","method":"a.b","id":1},{"jsonrpc":"2.0","method":"a.b","id":1}]"#, "[a.b()#1 a.b()#1]"),
    ];
    assert!(cases.len() >= 60, "{}", cases.len());
    for (body, expected) in cases {
        assert_eq!(told(body.as_bytes()), *expected, "{body}");
    }
}

#[test]
fn bytes_that_are_no_text_are_not_json() {
    assert_eq!(told(b"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}"), "not JSON");
    assert_eq!(told(b"{\"x\":\"\xc3\x28\"}"), "not JSON");
    assert_eq!(told(b"\0"), "not JSON");
}

#[test]
fn depth_costs_no_stack() {
    for open in ["[", "{\"a\":"] {
        assert_eq!(told(open.repeat(500_000).as_bytes()), "not JSON");
    }
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    assert_eq!(told(deep.as_bytes()), "[invalid(null)]");
    let params = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"a.b","params":{deep}}}"#);
    assert!(told(params.as_bytes()).starts_with("a.b([[["));
}

#[test]
fn a_huge_batch_is_not_kept() {
    let many = format!("[{}1]", "1,".repeat(1_000_000));
    assert_eq!(told(many.as_bytes()), "more than 3");
}

#[test]
fn an_id_that_is_too_long_is_not_answered() {
    let with = |id: &str| told(format!(r#"{{"jsonrpc":"2.0","method":"a.b","id":"{id}"}}"#).as_bytes());
    assert_eq!(with(&"x".repeat(Id::MAX)), "invalid(null)");
    assert!(with(&"x".repeat(Id::MAX - 2)).starts_with("a.b()#"));
}

#[test]
fn every_kind_has_the_number_of_the_design() {
    let numbers: Vec<i32> = Kind::ALL.into_iter().map(jsonrpc::number).collect();
    let expected = [
        -32700, -32600, -32601, -32602, -32603, -32000, -32001, -32002, -32003, -32004, -32005, -32006, -32007, -32008,
        -32009, -32010, -32011, -32070, -32099,
    ];
    assert_eq!(numbers, expected);
    for kind in Kind::ALL {
        assert_eq!(jsonrpc::kind(jsonrpc::number(kind)), Some(kind));
    }
}

#[test]
fn an_answer_carries_the_output_or_the_envelope() {
    let answer = |envelope| {
        let mut out = Vec::new();
        jsonrpc::write_answer(Id::NULL, &envelope, &mut out);
        serde_json::from_slice::<Value>(&out).unwrap()
    };
    assert_eq!(answer(success(&json!([1]))), json!({"jsonrpc": "2.0", "id": null, "result": [1]}));
    let failed = answer(failure(Kind::NotFound, 404, None));
    let envelope: Value = serde_json::from_slice(&failure(Kind::NotFound, 404, None).into_bytes()).unwrap();
    assert_eq!(failed["error"], json!({"code": -32001, "message": "no \"file\" at ä", "data": envelope}));
}
