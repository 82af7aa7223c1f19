//! The counts of a service, for those who may read them.

use std::{fmt, sync::Arc};

use axum::{
    http::{HeaderValue, StatusCode},
    response::Response,
};
use bytes::Bytes;
use redress_contract::{Access, Caller, Denied, EngineCode};
use redress_core::Refusal;

use crate::request::{response, service::Exchange};

/// What a caller needs to read the metrics.
const SCOPE: &str = "metrics:read";
/// The text format of Prometheus.
const MEDIA: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

/// Where the metrics come from, and whether everyone may read them.
#[derive(Clone)]
pub(crate) struct MetricsSource {
    pub(crate) text: Arc<dyn Fn() -> String + Send + Sync>,
    pub(crate) open: bool,
}

impl fmt::Debug for MetricsSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MetricsSource").field("open", &self.open).finish_non_exhaustive()
    }
}

/// The metrics. They tell which operations there are, the internal ones too, so they are for callers with a
/// scope of their own, unless the operator opens them.
pub(crate) async fn metrics(exchange: Exchange) -> Response {
    let Some(metrics) = &exchange.shared.metrics else { return exchange.nowhere() };
    if !metrics.open {
        let admitted = exchange.caller().await.and_then(|caller| admit(caller.as_deref()));
        if let Err(refusal) = admitted {
            return exchange.refuse(refusal);
        }
    }
    response::body(StatusCode::OK, MEDIA, Bytes::from((metrics.text)()))
}

fn admit(caller: Option<&Caller>) -> Result<(), Refusal> {
    Access::caller().scope(SCOPE).admit(caller).map_err(|denied| match denied {
        Denied::NoCaller => Refusal::new(EngineCode::AuthRequired),
        Denied::Scopes { missing, one_is_enough } => Refusal::missing_scopes(&missing, one_is_enough),
    })
}
