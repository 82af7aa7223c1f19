//! What a status means: kind, code, effect, and what helps. One table for all documents.

use redress_contract::{Effect, Kind, Shape};

use crate::StatusPattern;

/// The code of a failure with this status.
pub(super) fn code(status: StatusPattern) -> String {
    match status {
        StatusPattern::Exact(status) => format!("HTTP_{status}"),
        StatusPattern::Range(digit) => format!("HTTP_{digit}XX"),
        StatusPattern::Default => "HTTP_DEFAULT".to_owned(),
    }
}

/// Whether an answer with it is a success.
pub(super) const fn is_success(status: StatusPattern) -> bool {
    match status {
        StatusPattern::Exact(status) => status / 100 == 2,
        StatusPattern::Range(digit) => digit == 2,
        StatusPattern::Default => false,
    }
}

/// What sort of bad ending it is.
pub(super) const fn kind(status: StatusPattern) -> Kind {
    match status {
        StatusPattern::Exact(400) => Kind::InvalidParams,
        StatusPattern::Exact(401) => Kind::Unauthorized,
        StatusPattern::Exact(402 | 403) => Kind::Forbidden,
        StatusPattern::Exact(404) => Kind::NotFound,
        StatusPattern::Exact(408 | 425 | 504) => Kind::Timeout,
        StatusPattern::Exact(409 | 423 | 424) => Kind::Conflict,
        StatusPattern::Exact(422) => Kind::Validation,
        StatusPattern::Exact(429) => Kind::RateLimited,
        StatusPattern::Exact(500 | 501) => Kind::Internal,
        StatusPattern::Exact(400..=499) | StatusPattern::Range(4) => Kind::InvalidRequest,
        StatusPattern::Exact(500..=599) | StatusPattern::Range(5) => Kind::Unavailable,
        // It asks for something else to be asked for.
        StatusPattern::Exact(100..=399) | StatusPattern::Range(1..=3) => Kind::InvalidRequest,
        StatusPattern::Exact(_) | StatusPattern::Range(_) | StatusPattern::Default => Kind::Unknown,
    }
}

/// The status with which it is told on our own face: its own where that is one of a failure.
pub(super) const fn http(status: StatusPattern) -> u16 {
    match status {
        StatusPattern::Exact(status @ 400..=599) => status,
        StatusPattern::Range(4) => 400,
        StatusPattern::Exact(_) | StatusPattern::Range(_) | StatusPattern::Default => 502,
    }
}

/// Whether the side effect happened: a refusal changed nothing, and of a breakdown nobody can tell.
pub(super) const fn effect(status: StatusPattern, shape: Shape) -> Effect {
    match (shape, status) {
        (Shape::Query | Shape::Subscription, _) => Effect::None,
        (Shape::Mutation, StatusPattern::Exact(408 | 499)) => Effect::Unknown,
        (Shape::Mutation, StatusPattern::Exact(304 | 400..=498 | 501) | StatusPattern::Range(4)) => Effect::None,
        (Shape::Mutation, StatusPattern::Exact(_) | StatusPattern::Range(_) | StatusPattern::Default) => {
            Effect::Unknown
        }
    }
}

/// When it happens, if the document does not say.
pub(super) fn when(status: StatusPattern) -> String {
    match status {
        StatusPattern::Exact(status) => match reason(status) {
            Some(reason) => format!("The service answered {status} ({reason})."),
            None => format!("The service answered {status}."),
        },
        StatusPattern::Range(digit) => format!("The service answered with a status from {digit}00 to {digit}99."),
        StatusPattern::Default => {
            "The service answered with a status that it names no failure of its own for.".to_owned()
        }
    }
}

/// The reason phrase of a status (RFC 9110 and the registry).
fn reason(status: u16) -> Option<&'static str> {
    Some(match status {
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        411 => "Length Required",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        416 => "Range Not Satisfiable",
        421 => "Misdirected Request",
        422 => "Unprocessable Content",
        423 => "Locked",
        424 => "Failed Dependency",
        425 => "Too Early",
        428 => "Precondition Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        451 => "Unavailable For Legal Reasons",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        507 => "Insufficient Storage",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_a_code_a_kind_and_a_status_of_a_failure() {
        let all = (100..=999)
            .map(StatusPattern::Exact)
            .chain((1..=9).map(StatusPattern::Range))
            .chain([StatusPattern::Default]);
        for status in all {
            assert!(redress_contract::Code::new(&code(status)).is_ok(), "{status}");
            assert!((400..=599).contains(&http(status)), "{status}");
            assert_eq!(effect(status, Shape::Query), Effect::None);
        }
        for (status, kind) in [
            (400, Kind::InvalidParams),
            (402, Kind::Forbidden),
            (410, Kind::InvalidRequest),
            (418, Kind::InvalidRequest),
            (424, Kind::Conflict),
            (425, Kind::Timeout),
            (501, Kind::Internal),
            (502, Kind::Unavailable),
            (507, Kind::Unavailable),
            (302, Kind::InvalidRequest),
            (700, Kind::Unknown),
        ] {
            assert_eq!(super::kind(StatusPattern::Exact(status)), kind, "{status}");
        }
        assert_eq!(effect(StatusPattern::Exact(404), Shape::Mutation), Effect::None);
        assert_eq!(effect(StatusPattern::Exact(503), Shape::Mutation), Effect::Unknown);
    }
}
