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
