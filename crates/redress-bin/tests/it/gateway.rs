//! Services with an OpenAPI document, served beside the built-in operations.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    process::Stdio,
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::{process::Place, serve::Served};

const SHOP: &str = r#"
openapi: 3.1.0
info: {title: Shop, version: "1"}
servers: [{url: "https://shop.example/v1"}]
paths:
  /orders/{id}:
    get:
      operationId: getOrder
      tags: [orders]
      summary: One order
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      responses:
        200: {description: The order., content: {application/json: {schema: {type: object, properties: {id: {type: string}}}}}}
        404:
          description: There is no such order.
          content: {application/json: {schema: {type: object, properties: {error: {type: string}}}}}
"#;

/// Whoever may change files would choose where requests go.
#[test]
fn a_folder_that_can_be_changed_does_not_hold_a_document() {
    let place = Place::new().with("shop.yaml", SHOP);
    let refused = place.run(&["serve", "--openapi", "shop.yaml", "--write", "--json"]);
    assert_eq!((refused.code, &refused.json()["code"]), (2, &json!("ROOT_NOT_APART")), "{}", refused.seen());
    assert!(refused.seen().contains("shop.yaml"), "{}", refused.seen());
}

/// A service of plain sockets: it knows one order, does not know another, and is a teapot otherwise.
fn service() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for connection in listener.incoming().take(32) {
            thread::spawn(move || answer(connection.unwrap()));
        }
    });
    address
}

fn answer(mut connection: TcpStream) {
    connection.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        match connection.read(&mut byte) {
            Ok(1..) => head.push(byte[0]),
            Ok(0) | Err(_) => return,
        }
    }
    let head = String::from_utf8(head).unwrap();
    let (status, body) = match head.split_whitespace().nth(1).unwrap() {
        "/orders/9" if head.contains("Bearer canary-of-the-shop\r\n") => ("200 OK", json!({"id": "9"})),
        "/orders/1" | "/invoices/1" => ("200 OK", json!({"id": "1"})),
        "/orders/2" => ("404 Not Found", json!({"error": "order 2 was never made"})),
        _ => ("418 I'm a teapot", json!({"short": true, "stout": true})),
    };
    let body = body.to_string();
    let length = body.len();
    write!(
        connection,
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
    .unwrap();
}

#[test]
fn an_import_tells_what_it_found_and_the_lines_that_serve_it() {
    let place = Place::new().with("shop.yaml", SHOP);
    insta::assert_snapshot!(place.run(&["import", "shop.yaml"]).seen());
    let told = place.run(&["import", "shop.yaml", "--name", "store", "--json"]).json();
    assert_eq!(told["operations"][0]["name"], "store.orders.get_order");
    assert!(told["operations"][0]["failures"].as_array().unwrap().contains(&json!("HTTP_404")));
    assert_eq!(told["redress_toml"], "[[upstream]]\nname = \"store\"\nopenapi = \"shop.yaml\"\n");
    for words in [["import", "none.yaml"], ["import", "notes.md"], ["import", "http://127.0.0.1:9/openapi.json"]] {
        let ran = place.run(&words);
        assert_eq!(ran.code, 2, "{}", ran.seen());
        assert!(ran.err.contains("hint:"), "{}", ran.seen());
    }
}

#[test]
fn an_upstream_is_served_with_its_failures_over_http_and_mcp() {
    let url = format!("http://{}", service());
    let place = Place::new().with("shop.yaml", SHOP);
    let words = ["serve", "--json", "--listen", "127.0.0.1:0", "--openapi", "shop.yaml", "--openapi-url", &url];
    let served = Served::start(&mut place.command(&words));
    let client = reqwest::blocking::Client::new();
    let call = |id: &str| -> Value {
        let path = format!("{}/ops/shop/orders/get_order", served.url());
        let request = client.post(path).header("content-type", "application/json").body(json!({"id": id}).to_string());
        serde_json::from_str(&request.send().unwrap().text().unwrap()).unwrap()
    };
    assert_eq!(call("1"), json!({"id": "1"}));
    let missing = call("2");
    assert_eq!(missing["code"], "HTTP_404", "{missing}");
    assert_eq!(missing["details"]["body"], json!({"error": "order 2 was never made"}), "{missing}");
    let teapot = call("3");
    assert_eq!(
        (&teapot["code"], &teapot["details"]["status"]),
        (&json!("UPSTREAM_UNDECLARED"), &json!(418)),
        "{teapot}"
    );
    served.stop();

    let mut command = place.command(&["mcp", "--openapi", "shop.yaml", "--openapi-url", &url]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    for (id, order) in [(1, "1"), (2, "2"), (3, "3")] {
        let params = json!({"name": "shop_orders_get_order", "arguments": {"id": order}});
        writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})).unwrap();
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let answer = |id: u64| &answers.iter().find(|answer| answer["id"] == id).unwrap()["result"];
    assert_eq!(answer(1)["structuredContent"]["id"], "1", "{text}");
    assert_eq!(answer(2)["_meta"]["dev.redress/error"]["code"], "HTTP_404", "{text}");
    assert_eq!(answer(3)["_meta"]["dev.redress/error"]["code"], "UPSTREAM_UNDECLARED", "{text}");
}

#[test]
fn a_table_of_the_configuration_serves_a_document_and_what_does_not_fit_it_is_told() {
    let url = format!("http://{}", service());
    let table = format!("[[upstream]]\nname = \"shop\"\nopenapi = \"shop.yaml\"\nurl = \"{url}\"\n");
    let place = Place::new().with("shop.yaml", SHOP).with("redress.toml", &table);
    let served = Served::start(&mut place.command(&["serve", "redress.toml", "--json", "--listen", "127.0.0.1:0"]));
    let ran = place.run(&["call", "shop.orders.get_order", r#"{"id": "2"}"#, "--json", "--server", &served.url()]);
    assert_eq!((ran.code, &ran.json()["code"]), (1, &json!("HTTP_404")), "{}", ran.seen());
    served.stop();
    for (lines, says) in [
        ("[upstream.credentials.key]\nenv = \"KEY\"\n", "UPSTREAM_UNUSABLE"),
        ("[[upstream.override]]\noperation = \"shop.orders.get_ordr\"\nexclude = true\n", "shop.orders.get_order"),
        ("stict = true\n", "upstream.strict"),
    ] {
        let place = Place::new().with("shop.yaml", SHOP).with("redress.toml", &format!("{table}{lines}"));
        let ran = place.run(&["serve", "redress.toml", "--listen", "127.0.0.1:0"]);
        assert!(ran.code == 2 && ran.err.contains(says), "{}", ran.seen());
    }
}

#[test]
fn credentials_that_are_missing_are_told_by_the_doctor_and_by_the_call_and_those_given_are_sent() {
    let url = format!("http://{}", service());
    let secured = format!(
        "{SHOP}components: {{securitySchemes: {{token: {{type: http, scheme: bearer}}}}}}\nsecurity: [{{token: []}}]\n"
    );
    let table = format!(
        "state = \"memory\"\n[[upstream]]\nname = \"shop\"\nopenapi = \"shop.yaml\"\nurl = \"{url}\"\n\
         [upstream.credentials.token]\nenv = \"SHOP_TOKEN\"\n"
    );
    let place = Place::new().with("shop.yaml", &secured).with("redress.toml", &table);
    let upstream = |told: &Value| {
        let all = told.as_array().unwrap().iter();
        all.clone().find(|check| check["check"] == "upstream").unwrap().clone()
    };
    let told = upstream(&place.run(&["doctor", "redress.toml", "--listen", "127.0.0.1:0", "--json"]).json());
    assert_eq!(told["status"], "warn", "{told}");
    assert!(
        told["says"].as_str().unwrap().contains("token (the environment variable `SHOP_TOKEN` is not set)"),
        "{told}"
    );
    for (given, code) in [(false, json!("CREDENTIALS_REQUIRED")), (true, Value::Null)] {
        let mut command = place.command(&["serve", "redress.toml", "--json", "--listen", "127.0.0.1:0"]);
        if given {
            command.env("SHOP_TOKEN", "canary-of-the-shop");
        }
        let served = Served::start(&mut command);
        let words = ["call", "shop.orders.get_order", r#"{"id": "9"}"#, "--json", "--server", &served.url()];
        let ran = place.run(&words);
        assert_eq!(ran.json()["code"], code, "{}", ran.seen());
        assert!(!ran.seen().contains("canary-of-the-shop"));
        served.stop();
    }
}

/// Waits until `holds`, for as long as a slow machine may need.
fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..600 {
        if holds() {
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
    panic!("{what}");
}

#[test]
fn a_document_that_has_changed_is_taken_whole_and_one_that_is_broken_is_not() {
    let url = format!("http://{}", service());
    let table = format!("[[upstream]]\nname = \"shop\"\nopenapi = \"shop.yaml\"\nurl = \"{url}\"\n");
    let place = Place::new().with("shop.yaml", SHOP).with("redress.toml", &table);
    let served = Served::start(&mut place.command(&["serve", "redress.toml", "--json", "--listen", "127.0.0.1:0"]));
    let client = reqwest::blocking::Client::new();
    let call = |path: &str| -> Value {
        let request =
            client.post(format!("{}/ops/shop/{path}", served.url())).header("content-type", "application/json");
        serde_json::from_str(&request.body(r#"{"id": "1"}"#).send().unwrap().text().unwrap()).unwrap()
    };
    assert_eq!(call("orders/get_order"), json!({"id": "1"}));
    let place = place.with("shop.yaml", "no: document");
    thread::sleep(Duration::from_secs(3));
    assert_eq!(call("orders/get_order"), json!({"id": "1"}), "the old one holds");
    let renamed =
        SHOP.replace("/orders", "/invoices").replace("getOrder", "getInvoice").replace("[orders]", "[invoices]");
    let _place = place.with("shop.yaml", &renamed);
    wait_for("the new document holds", || call("invoices/get_invoice") == json!({"id": "1"}));
    assert_eq!(call("orders/get_order")["code"], "NOT_FOUND");
    let get = |path: &str| client.get(format!("{}{path}", served.url())).send().unwrap().text().unwrap();
    let ready: Value = serde_json::from_str(&get("/readyz")).unwrap();
    assert_eq!(ready["upstreams"], json!({"shop": "connected"}), "{ready}");
    let metrics = get("/metrics");
    for line in [
        "redress_upstream_up{upstream=\"shop\"} 1",
        "redress_upstream_failures_total{upstream=\"shop\"} 0",
        "redress_calls_total{operation=\"shop.invoices.get_invoice\"",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
    served.stop();
}

#[test]
fn a_document_at_an_address_is_got_kept_and_waited_for() {
    let url = format!("http://{}", service());
    // Nothing listens at the address of the document yet.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let table = format!("[[upstream]]\nname = \"shop\"\nopenapi = \"http://{free}/openapi.yaml\"\nurl = \"{url}\"\n");
    let place = Place::new().with("redress.toml", &table);
    let words = ["serve", "redress.toml", "--json", "--listen", "127.0.0.1:0"];
    let client = reqwest::blocking::Client::new();
    let call = |served: &Served| -> Value {
        let request = client.post(format!("{}/ops/shop/orders/get_order", served.url()));
        let request = request.header("content-type", "application/json").body(r#"{"id": "1"}"#);
        serde_json::from_str(&request.send().unwrap().text().unwrap()).unwrap()
    };
    let served = Served::start(&mut place.command(&words));
    assert_eq!(call(&served)["code"], "NOT_FOUND", "it starts without it");
    let ready = client.get(format!("{}/readyz", served.url())).send().unwrap().text().unwrap();
    assert!(ready.contains(r#""shop":"no_document""#), "{ready}");
    let listener = TcpListener::bind(free).unwrap();
    let documents = thread::spawn(move || {
        let mut connection = listener.accept().unwrap().0;
        let mut asked = [0; 4096];
        let _ = connection.read(&mut asked).unwrap();
        let length = SHOP.len();
        write!(connection, "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{SHOP}").unwrap();
    });
    wait_for("the document comes by itself", || call(&served) == json!({"id": "1"}));
    documents.join().unwrap();
    served.stop();
    // Nothing listens there again, and the last good document was kept.
    let served = Served::start(&mut place.command(&words));
    assert_eq!(call(&served), json!({"id": "1"}));
    served.stop();
    let ran = place.run(&["doctor", "redress.toml", "--json"]);
    assert!(ran.out.contains("shop: 1 operations"), "{}", ran.seen());
}

#[test]
fn an_overlay_changes_the_document_before_it_is_read() {
    let overlay = "overlay: 1.1.0\ninfo: {title: t, version: '1'}\nactions:\n  - {target: \"$.paths['/orders/{id}'].get\", update: {summary: The order by its number}}\n";
    let table = "[[upstream]]\nname = \"shop\"\nopenapi = \"shop.yaml\"\noverlays = [\"mine.yaml\"]\n";
    let place = Place::new().with("shop.yaml", SHOP).with("mine.yaml", overlay).with("redress.toml", table);
    let served = Served::start(&mut place.command(&["serve", "redress.toml", "--json", "--listen", "127.0.0.1:0"]));
    let ops = reqwest::blocking::get(format!("{}/ops", served.url())).unwrap().text().unwrap();
    assert!(ops.contains("The order by its number"), "{ops}");
    served.stop();
}
