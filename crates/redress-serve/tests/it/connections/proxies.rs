//! Messages through proxies.

use redress_serve::{Listen, Network, Server};

use super::{Served, telling};

async fn who(trusted: &[&str], headers: &[(&str, &str)]) -> String {
    let networks = trusted.iter().map(|network| network.parse::<Network>().unwrap());
    let server = Server::new(telling().trusted_proxies(networks)).listen("127.0.0.1:0".parse::<Listen>().unwrap());
    let served = Served::of(server).await;
    let request = reqwest::Client::new().post(format!("http://{}/ops/who/am_i", served.tcp())).body("{}");
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    let text = request.send().await.unwrap().text().await.unwrap();
    served.end().await;
    text.trim_matches('"').to_owned()
}

const HERE: &[&str] = &["127.0.0.0/8"];

/// Who is trusted, what the message says, and who calls then.
type Case = (&'static [&'static str], &'static [(&'static str, &'static str)], &'static str);

/// What a proxy on the same machine that is not trusted gives itself away by, and what a caller may
/// claim to be `local`.
#[tokio::test]
async fn nobody_becomes_local_by_what_a_message_says_of_its_way() {
    const STRANGER: &str = "127.0.0.1 local=false secure=false certificate=false";
    for name in [
        "X-Forwarded-For",
        "x-FORWARDED-for",
        "X-Forwarded-Host",
        "X-Forwarded-Port",
        "X-Forwarded-Proto",
        "X-Forwarded-Server",
        "X-Forwarded-Prefix",
        "X-Forwarded",
        "X-Real-IP",
        "X-Client-IP",
        "X-Cluster-Client-IP",
        "X-Original-Forwarded-For",
        "X-Original-Host",
        "X-Envoy-External-Address",
        "True-Client-IP",
        "CF-Connecting-IP",
        "Fastly-Client-IP",
        "Fly-Client-IP",
        "Forwarded",
        "Via",
    ] {
        for value in ["127.0.0.1", "for=127.0.0.1;host=localhost", "", "\""] {
            assert_eq!(who(&[], &[(name, value)]).await, STRANGER, "{name}: {value}");
            // One that is trusted may name whomever it likes, and nobody that it names is local.
            let told = who(HERE, &[(name, value), ("x-forwarded-host", "localhost")]).await;
            assert!(told.contains("local=false secure=false"), "{name}: {value}: {told}");
        }
    }
    // nginx speaks HTTP/1.0 to what is behind it unless it is told otherwise, and names no one.
    let served = Served::of(Server::new(telling()).listen("127.0.0.1:0".parse::<Listen>().unwrap())).await;
    for host in ["host: 127.0.0.1:7717\r\n", ""] {
        let request = format!("POST /ops/who/am_i HTTP/1.0\r\n{host}content-length: 2\r\n\r\n{{}}");
        let answer = super::last_words(&mut served.connect().await, &request).await;
        assert!(answer.ends_with(&format!("\"{STRANGER}\"")), "{answer}");
    }
    served.end().await;
}

#[tokio::test]
async fn proxies_that_are_trusted_name_the_caller_and_no_others_do() {
    let cases: &[Case] = &[
        (&[], &[], "127.0.0.1 local=true secure=false certificate=false"),
        // What claims to come through a proxy is not local, whoever says so.
        (&[], &[("x-forwarded-for", "203.0.113.7")], "127.0.0.1 local=false secure=false certificate=false"),
        (&[], &[("x-forwarded-proto", "https")], "127.0.0.1 local=false secure=false certificate=false"),
        (&[], &[("via", "1.1 proxy")], "127.0.0.1 local=false secure=false certificate=false"),
        (&["10.0.0.0/8"], &[("forwarded", "for=203.0.113.7")], "127.0.0.1 local=false secure=false certificate=false"),
        (
            HERE,
            &[("x-forwarded-for", "1.1.1.1, 203.0.113.7"), ("x-forwarded-proto", "https")],
            "203.0.113.7 local=false secure=true certificate=false",
        ),
        (
            HERE,
            &[("forwarded", "for=203.0.113.7;proto=https")],
            "203.0.113.7 local=false secure=true certificate=false",
        ),
        // Even a proxy that says nothing is a proxy.
        (HERE, &[], "127.0.0.1 local=false secure=false certificate=false"),
        (HERE, &[("x-forwarded-for", "127.0.0.1")], "127.0.0.1 local=false secure=false certificate=false"),
        (HERE, &[("x-forwarded-for", "not an address")], "nobody local=false secure=false certificate=false"),
    ];
    for (trusted, headers, told) in cases {
        assert_eq!(who(trusted, headers).await, *told, "{trusted:?} {headers:?}");
    }
}
