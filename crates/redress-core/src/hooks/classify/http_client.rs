//! What a `reqwest::Error` is.

use redress_contract::Kind;
use reqwest::Error;

use super::by_type::TypeRow;

/// A row's name, the statuses that lead to it, for print, and its kind.
type StatusLine = (&'static str, &'static str, Kind);

const STATUSES: [StatusLine; 11] = [
    ("reqwest-invalid-params", "reqwest::Error, status 400", Kind::InvalidParams),
    ("reqwest-unauthorized", "reqwest::Error, status 401", Kind::Unauthorized),
    ("reqwest-forbidden", "reqwest::Error, status 402 or 403", Kind::Forbidden),
    ("reqwest-not-found", "reqwest::Error, status 404", Kind::NotFound),
    ("reqwest-status-timeout", "reqwest::Error, status 408, 425 or 504", Kind::Timeout),
    ("reqwest-conflict", "reqwest::Error, status 409, 423 or 424", Kind::Conflict),
    ("reqwest-validation", "reqwest::Error, status 422", Kind::Validation),
    ("reqwest-rate-limited", "reqwest::Error, status 429", Kind::RateLimited),
    ("reqwest-invalid-request", "reqwest::Error, another status 3xx or 4xx", Kind::InvalidRequest),
    ("reqwest-internal", "reqwest::Error, status 500 or 501", Kind::Internal),
    ("reqwest-unavailable", "reqwest::Error, another status 5xx", Kind::Unavailable),
];

pub(super) fn rows() -> Vec<TypeRow> {
    // The first two read their causes themselves, so they come before the stages at which
    // those happened.
    let mut rows = vec![
        TypeRow::when("reqwest-timeout", "reqwest::Error, timed out", Kind::Timeout, Error::is_timeout),
        TypeRow::when("reqwest-connect", "reqwest::Error, connecting", Kind::Unavailable, Error::is_connect),
    ];
    rows.extend(STATUSES.map(|(name, pattern, kind)| {
        TypeRow::matching(name, pattern.into(), kind, move |error| {
            let status = error.downcast_ref::<Error>().and_then(Error::status);
            status.and_then(|status| kind_of_status(status.as_u16())) == Some(kind)
        })
    }));
    rows.extend([
        TypeRow::when("reqwest-decode", "reqwest::Error, decoding", Kind::Serialization, Error::is_decode),
        TypeRow::when::<Error>("reqwest-transfer", "reqwest::Error, request or body", Kind::Unavailable, |error| {
            error.is_request() || error.is_body()
        }),
    ]);
    rows
}

/// What a status says about the call that it answers.
fn kind_of_status(status: u16) -> Option<Kind> {
    Some(match status {
        400 => Kind::InvalidParams,
        401 => Kind::Unauthorized,
        402 | 403 => Kind::Forbidden,
        404 => Kind::NotFound,
        408 | 425 | 504 => Kind::Timeout,
        409 | 423 | 424 => Kind::Conflict,
        422 => Kind::Validation,
        429 => Kind::RateLimited,
        300..=499 => Kind::InvalidRequest,
        500 | 501 => Kind::Internal,
        502..=599 => Kind::Unavailable,
        0..300 | 600.. => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::{SocketAddr, TcpListener},
        thread,
        time::Duration,
    };

    use super::*;
    use crate::hooks::classify::Classifier;

    fn row_of(error: &Error) -> (Kind, String) {
        let found = Classifier::standard().classify(error);
        (found.kind, found.row.into_owned())
    }

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
    }

    /// A server for one request, which it answers with these bytes.
    fn answering(answer: &'static str) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (mut connection, _) = listener.accept().unwrap();
            let mut request = [0; 4096];
            let _ = connection.read(&mut request).unwrap();
            connection.write_all(answer.as_bytes()).unwrap();
        });
        address
    }

    async fn text_from(address: SocketAddr) -> Result<String, Error> {
        let client = reqwest::Client::builder().no_proxy().build()?;
        client.get(format!("http://{address}/")).send().await?.error_for_status()?.text().await
    }

    #[test]
    fn every_status_of_an_answer_has_its_kind() {
        let table: [(&[u16], Kind); 11] = [
            (&[400], Kind::InvalidParams),
            (&[401], Kind::Unauthorized),
            (&[402, 403], Kind::Forbidden),
            (&[404], Kind::NotFound),
            (&[408, 425, 504], Kind::Timeout),
            (&[409, 423, 424], Kind::Conflict),
            (&[422], Kind::Validation),
            (&[429], Kind::RateLimited),
            (&[301, 405, 406, 410, 412, 415, 416, 417, 418, 428, 431, 451], Kind::InvalidRequest),
            (&[500, 501], Kind::Internal),
            (&[502, 503, 599], Kind::Unavailable),
        ];
        for (statuses, kind) in table {
            for status in statuses {
                assert_eq!(kind_of_status(*status), Some(kind), "{status}");
            }
            assert_eq!(STATUSES.iter().filter(|line| line.2 == kind).count(), 1, "{kind} has one row");
        }
        assert_eq!(kind_of_status(204), None);
    }

    #[test]
    fn a_refused_connection_is_unavailable() {
        let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let error = runtime().block_on(text_from(closed)).unwrap_err();
        assert_eq!(row_of(&error), (Kind::Unavailable, "reqwest-connect".into()));
    }

    #[test]
    fn a_bad_status_goes_by_the_table() {
        let missing = answering("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
        let error = runtime().block_on(text_from(missing)).unwrap_err();
        assert_eq!(row_of(&error), (Kind::NotFound, "reqwest-not-found".into()));
        let busy = answering("HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\n\r\n");
        let error = runtime().block_on(text_from(busy)).unwrap_err();
        assert_eq!(row_of(&error), (Kind::RateLimited, "reqwest-rate-limited".into()));
    }

    #[test]
    fn a_connection_that_ends_too_early_is_unavailable() {
        let error = runtime().block_on(text_from(answering("HTTP/1.1 200"))).unwrap_err();
        assert_eq!(row_of(&error), (Kind::Unavailable, "reqwest-transfer".into()));
    }

    #[test]
    fn a_slow_server_is_a_timeout() {
        // The backlog takes the connection, and nobody ever answers.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let error = runtime().block_on(async {
            let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_millis(1)).build().unwrap();
            client.get(url).send().await.unwrap_err()
        });
        assert_eq!(row_of(&error), (Kind::Timeout, "reqwest-timeout".into()));
    }
}
