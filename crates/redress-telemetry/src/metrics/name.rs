//! The names of metrics that other parts give.

/// The name of a metric, and what it tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricName {
    name: &'static str,
    help: &'static str,
}

impl MetricName {
    /// A name of lower-case letters, digits and `_`, and one sentence about it. In a `const` a wrong name does
    /// not compile.
    ///
    /// ```
    /// use redress_telemetry::MetricName;
    ///
    /// const CACHED: MetricName = MetricName::new("shop_cached_prices", "Prices that are kept.");
    /// assert_eq!(CACHED.name(), "shop_cached_prices");
    /// ```
    ///
    /// # Panics
    ///
    /// When the name has any other character, or starts with a digit.
    pub const fn new(name: &'static str, help: &'static str) -> MetricName {
        let bytes = name.as_bytes();
        assert!(!bytes.is_empty() && !bytes[0].is_ascii_digit(), "a metric's name starts with a letter");
        let mut place = 0;
        while place < bytes.len() {
            let byte = bytes[place];
            assert!(
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_',
                "a metric's name has lower-case letters, digits and `_`"
            );
            place += 1;
        }
        MetricName { name, help }
    }

    /// The name.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// What it tells.
    pub const fn help(self) -> &'static str {
        self.help
    }
}

/// The metrics that parts of a server give beside the calls. The dashboard and the alerts know them.
pub mod names {
    use super::MetricName;

    macro_rules! names {
        ($($(#[doc = $doc:literal])+ $constant:ident = $name:literal, $help:literal;)+) => {
            $($(#[doc = $doc])+ pub const $constant: MetricName = MetricName::new($name, $help);)+

            /// Every one of them.
            pub const ALL: [MetricName; [$($name),+].len()] = [$($constant),+];
        };
    }

    names! {
        /// Fields that MCP hosts add and that were dropped.
        HOST_FIELDS_DROPPED = "redress_mcp_host_fields_dropped_total",
            "Fields that MCP hosts had added to the arguments of tools, and that were dropped.";
        /// Open connections.
        CONNECTIONS = "redress_connections", "Connections that are open.";
        /// Open WebSockets.
        SOCKETS = "redress_sockets", "WebSockets that are open.";
        /// Open streams over HTTP.
        STREAMS = "redress_streams", "Streams that are open over HTTP.";
        /// Connections that were refused for want of room.
        CONNECTIONS_REFUSED = "redress_connections_refused_total", "Connections that were refused for want of room.";
        /// Bytes of answers that are held for their readers.
        ANSWER_BYTES = "redress_answer_bytes", "Bytes of answers that are held until their readers have taken them.";
        /// The most bytes of answers that were held at once.
        ANSWER_BYTES_PEAK = "redress_answer_bytes_peak", "The most bytes of answers that were held at once.";
        /// Calls and answers that waited for room.
        ANSWERS_WAITED = "redress_answers_waited_total", "Calls and answers that waited for room for an answer.";
        /// Calls that found no room for their answer.
        ANSWERS_REFUSED = "redress_answers_refused_total",
            "Calls that did not run because there was no room for their answer in time.";
        /// Whether the server takes calls.
        READY = "redress_ready", "1 while the server is ready for calls, as /readyz says, and 0 otherwise.";
        /// How much waits to be written to the state.
        STATE_QUEUED = "redress_state_queued_bytes", "Bytes of records that wait to be written to the state.";
        /// Calls whose answer could wait no longer for their record.
        AUDIT_LATE = "redress_audit_late_total", "Calls that were answered before their record was kept.";
        /// Lines that the access log could not write.
        ACCESS_LOG_DROPPED = "redress_access_log_dropped_total", "Lines that the access log could not write.";
        /// Messages that the collector did not take.
        OTLP_FAILED = "redress_otlp_failed_total", "Messages that the OpenTelemetry collector did not take.";
        /// Spans that the collector was not told of.
        OTLP_SPANS_DROPPED = "redress_otlp_spans_dropped_total",
            "Spans that did not reach the OpenTelemetry collector, for want of room or because it did not take them.";
        /// Configurations that were taken while the server ran.
        RELOADS = "redress_reloads_total", "Configurations that were taken while the server ran.";
        /// Configurations that were refused while the server ran.
        RELOADS_REFUSED = "redress_reloads_refused_total", "Configurations that were refused while the server ran.";
        /// Whether calls of a service behind the gateway go through.
        UPSTREAM_UP = "redress_upstream_up", "1 while calls of the service go through, and 0 while none is sent.";
        /// Requests to services behind the gateway.
        UPSTREAM_REQUESTS = "redress_upstream_requests_total", "Requests that were sent to the service, again included.";
        /// Calls for whose bad ending a service behind the gateway was the reason.
        UPSTREAM_FAILURES = "redress_upstream_failures_total",
            "Calls that the service did not answer, or not as its document says.";
        /// Calls that wait for services behind the gateway.
        UPSTREAM_IN_FLIGHT = "redress_upstream_in_flight", "Calls that wait for the service.";
    }
}
