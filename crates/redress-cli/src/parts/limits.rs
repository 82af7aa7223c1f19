//! How much may be asked for: from the settings to what refuses.

use std::num::NonZeroU32;

use redress_limits::{LimitOptions, LimitRule, Limits, LimitsError};
use redress_serve::Network;

use crate::{
    config::{Rate, Rule, Settings},
    trouble::Trouble,
};

/// What refuses calls that are too many.
pub(crate) fn calls(settings: &Settings) -> Result<Limits, Trouble> {
    Limits::new(options(settings)?).map_err(|error| wrong(settings, &error))
}

/// The limits on calls.
pub(super) fn options(settings: &Settings) -> Result<LimitOptions, Trouble> {
    let table = &settings.limits;
    let mut options = LimitOptions::default();
    options.rate = rate(table.rate, table.burst).map_err(|error| wrong(settings, &error))?;
    options.in_flight = table.in_flight.map(NonZeroU32::get);
    options.streams = table.streams.map(NonZeroU32::get);
    options.shed = table.shed.unwrap_or(false);
    let rules = table.rules.iter().map(rule).collect::<Result<_, _>>();
    options.rules = rules.map_err(|error| wrong(settings, &error))?;
    Ok(options)
}

fn rule(table: &Rule) -> Result<LimitRule, LimitsError> {
    let mut rule = LimitRule::new(table.operations.iter().flatten());
    rule.callers = table.callers.iter().flatten().cloned().collect();
    rule.rate = rate(table.rate, table.burst)?;
    rule.in_flight = table.in_flight.map(NonZeroU32::get);
    rule.streams = table.streams.map(NonZeroU32::get);
    Ok(rule)
}

fn rate(rate: Option<Rate>, burst: Option<NonZeroU32>) -> Result<Option<redress_limits::Rate>, LimitsError> {
    rate.map(|rate| burst.map_or(Ok(rate.0), |burst| rate.0.with_burst(burst.get()))).transpose()
}

pub(super) fn wrong(settings: &Settings, error: &LimitsError) -> Trouble {
    let at = if settings.limits.rules.is_empty() { "limits" } else { "limits.rules" };
    settings.wrong(at, error.to_string())
}

/// The limits on connections.
pub(crate) fn faces(settings: &Settings) -> redress_serve::Limits {
    let (table, http) = (&settings.limits, &settings.http);
    let mut limits = redress_serve::Limits::default();
    limits.connections = table.connections.map_or(limits.connections, Into::into);
    limits.sockets = table.sockets.map_or(limits.sockets, Into::into);
    let streams = table.streams.and_then(|streams| usize::try_from(streams.get()).ok());
    limits.streams = streams.unwrap_or(limits.streams);
    limits.header_time = http.header_time.map_or(limits.header_time, |span| span.0);
    limits.body_time = http.body_time.map_or(limits.body_time, |span| span.0);
    limits.idle_time = http.idle_time.map_or(limits.idle_time, |span| span.0);
    limits.write_time = http.write_time.map_or(limits.write_time, |span| span.0);
    limits.header_bytes = http.max_headers.map_or(limits.header_bytes, |size| size.0);
    limits
}

/// The proxies whose word is taken.
pub(crate) fn networks(settings: &Settings) -> Result<Vec<Network>, Trouble> {
    let written = settings.http.trusted_proxies.iter().flatten();
    let read = written.map(|text| text.parse::<Network>()).collect::<Result<_, _>>();
    read.map_err(|error| settings.wrong("http.trusted_proxies", error.to_string()))
}
