//! What callers say of the way that their messages came, at a server behind a proxy and beside it.

use std::net::SocketAddr;

use serde_json::json;

use crate::{
    process::Place,
    raw::{answer, calls, open},
    serve::Served,
};

/// Where the proxy is, and where somebody is who goes around it.
const PROXY: &str = "127.0.0.1";
const BESIDE: &str = "127.0.0.2";

fn serve(config: &str) -> (Place, Served, SocketAddr) {
    let text = format!(
        "state = \"memory\"\n[serve]\nlisten = \"127.0.0.1:0\"\nroot = \"served\"\n\
         [http]\ntrusted_proxies = [\"{PROXY}/32\"]\n{config}"
    );
    let place = Place::new().with("redress.toml", &text);
    std::fs::create_dir(place.path().join("served")).unwrap();
    let served = Served::start(&mut place.command(&["serve", "redress.toml", "--json", "--log-level", "off"]));
    let address = served.url().strip_prefix("http://").unwrap().parse().unwrap();
    (place, served, address)
}

async fn call(from: &str, address: SocketAddr, headers: &str, (path, body): &(String, String)) -> String {
    let mut stream = open(from, address, path, headers).await;
    answer(&mut stream, path, headers, body).await
}

/// The ways in which a caller can write what stands before the word of its proxy, each with another address in it.
fn forged(number: usize, by_proxy: &str) -> String {
    match number % 5 {
        0 => format!("X-Forwarded-For: 198.51.100.{number}, {by_proxy}\r\n"),
        1 => format!("X-Forwarded-For: 198.51.100.{number}\r\nX-Forwarded-For: {by_proxy}\r\n"),
        2 => format!("X-Forwarded-For: \"198.51.100.{number}, {by_proxy}\r\n"),
        3 => format!("X-Real-IP: 198.51.100.{number}\r\nX-Forwarded-For: {by_proxy}\r\n"),
        _ => format!("Forwarded: for=198.51.100.{number}, for={by_proxy}\r\n"),
    }
}

#[tokio::test]
async fn nobody_has_more_or_takes_from_others_by_what_a_message_says_of_its_way_on_any_face() {
    const ALLOWED: usize = 12;
    let rule = format!("{{ operations = [\"errors.explain\"], callers = [\"anonymous\"], rate = \"{ALLOWED}/h\" }}");
    let (_place, served, address) = serve(&format!("[access]\ntokens = \"tokens.json\"\n[limits]\nrules = [{rule}]\n"));
    let mut explain = calls("errors.explain", &json!({"code": "NOT_FOUND"}), 1);
    // Where callers are known by tokens, MCP is for them alone.
    explain.retain(|(path, _)| path != "/mcp");
    let limited = |answer: &str| answer.contains("RATE_LIMITED");
    // Through the proxy it is the caller that the proxy names, whatever stands before that.
    for number in 0..ALLOWED {
        let face = &explain[number % explain.len()];
        let told = call(PROXY, address, &forged(number, "203.0.113.7"), face).await;
        assert!(told.contains("NOT_FOUND") && !limited(&told), "{number}, {}\n{told}", face.0);
    }
    for (number, face) in explain.iter().enumerate() {
        let told = call(PROXY, address, &forged(number, "203.0.113.7"), face).await;
        assert!(limited(&told), "{}\n{told}", face.0);
    }
    // Beside the proxy it is whoever connects, though it says to be another each time.
    for number in 0..ALLOWED {
        let face = &explain[number % explain.len()];
        let told = call(BESIDE, address, &forged(number, "203.0.113.8"), face).await;
        assert!(!limited(&told), "{number}, {}\n{told}", face.0);
    }
    for (number, face) in explain.iter().enumerate() {
        let told = call(BESIDE, address, &forged(number, "203.0.113.9"), face).await;
        assert!(limited(&told), "{}\n{told}", face.0);
    }
    // So nothing was taken from those whose names it used.
    for (number, face) in explain.iter().enumerate() {
        for victim in ["203.0.113.8", "203.0.113.9"] {
            let told = call(PROXY, address, &forged(number, victim), face).await;
            assert!(!limited(&told), "{victim}, {}\n{told}", face.0);
        }
    }
    served.stop();
}

/// Without access whoever is on this machine is `local`; what comes by a proxy is not, though the proxy is on it.
#[tokio::test]
async fn nobody_is_local_behind_a_proxy_of_this_machine_on_any_face() {
    let (_place, served, address) = serve("");
    for face in calls("files.list", &json!({}), 1) {
        for headers in [
            "",
            "X-Forwarded-For: 127.0.0.1\r\n",
            "X-Forwarded-For: ::1\r\n",
            "X-Forwarded-For: ::ffff:127.0.0.1\r\n",
            "Forwarded: for=127.0.0.1;host=localhost;proto=https\r\n",
            "X-Forwarded-For: 203.0.113.7\r\nX-Forwarded-Host: localhost\r\n",
        ] {
            let told = call(PROXY, address, headers, &face).await;
            let refused = ["AUTH_REQUIRED", "FORBIDDEN", "NOT_FOUND"].iter().any(|code| told.contains(code));
            assert!(refused && !told.contains("entries"), "{} {headers:?}\n{told}", face.0);
        }
    }
    served.stop();
}
