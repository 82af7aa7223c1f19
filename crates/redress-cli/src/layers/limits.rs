//! How much may be asked for: from the settings to what refuses.

use std::num::NonZeroU32;

use redress_limits::{LimitOptions, LimitRule, Limits, LimitsError};
use redress_serve::Network;

use crate::{
    config::{LimitRuleTable, QuotasSetting, RateSetting, ServeSettings},
    error::CliError,
};

/// Of how many callers each may have as much as it may of all calls at once.
const SHARES: u32 = 4;

/// What refuses calls that are too many.
pub(crate) fn calls(settings: &ServeSettings) -> Result<Limits, CliError> {
    Limits::new(options(settings)?).map_err(|error| wrong(settings, &error))
}

/// The limits on calls.
pub(super) fn options(settings: &ServeSettings) -> Result<LimitOptions, CliError> {
    let table = &settings.limits;
    let mut options = LimitOptions::default();
    options.rate = rate(table.rate, table.burst).map_err(|error| wrong(settings, &error))?;
    options.in_flight_total = settings.max_in_flight.map(|max| u32::try_from(max).unwrap_or(u32::MAX).max(1));
    // A call that waits takes nothing but its place, so one caller could have them all for next to nothing.
    let share = options.in_flight_total.map(|all| all.div_ceil(SHARES));
    options.in_flight = table.in_flight.map(NonZeroU32::get).or(share);
    // The faces count the streams of a caller each on its own, and over WebSockets those of one connection.
    options.streams = u32::try_from(faces(settings).streams).ok();
    options.quotas = quotas(table.quota.as_ref());
    options.shed = table.shed.unwrap_or(crate::config::defaults::SHED);
    let rules = table.rules.iter().map(rule).collect::<Result<_, _>>();
    options.rules = rules.map_err(|error| wrong(settings, &error))?;
    Ok(options)
}

fn rule(table: &LimitRuleTable) -> Result<LimitRule, LimitsError> {
    let mut rule = LimitRule::new(table.operations.iter().flatten());
    rule.callers = table.callers.iter().flatten().cloned().collect();
    rule.rate = rate(table.rate, table.burst)?;
    rule.quotas = quotas(table.quota.as_ref());
    rule.in_flight = table.in_flight.map(NonZeroU32::get);
    rule.streams = table.streams.map(NonZeroU32::get);
    Ok(rule)
}

fn quotas(table: Option<&QuotasSetting>) -> Vec<redress_limits::Quota> {
    table.map(|quotas| quotas.0.clone()).unwrap_or_default()
}

fn rate(rate: Option<RateSetting>, burst: Option<NonZeroU32>) -> Result<Option<redress_limits::Rate>, LimitsError> {
    rate.map(|rate| burst.map_or(Ok(rate.0), |burst| rate.0.with_burst(burst.get()))).transpose()
}

pub(super) fn wrong(settings: &ServeSettings, error: &LimitsError) -> CliError {
    let at = if settings.limits.rules.is_empty() { "limits" } else { "limits.rules" };
    settings.wrong(at, error.to_string())
}

/// The limits on connections.
pub(crate) fn faces(settings: &ServeSettings) -> redress_serve::ServerLimits {
    let (table, http) = (&settings.limits, &settings.http);
    let mut limits = redress_serve::ServerLimits::default();
    limits.connections = table.connections.map_or(limits.connections, Into::into);
    // Who lets fewer connect in all does not mean that one address may have every place.
    let share = limits.per_address.min(limits.connections.div_ceil(2));
    limits.per_address = table.per_address.map_or(share, Into::into);
    limits.handshake_time = http.handshake_time.map_or(limits.handshake_time, |span| span.0);
    limits.sockets = table.sockets.map_or(limits.sockets, Into::into);
    let streams = table.streams.and_then(|streams| usize::try_from(streams.get()).ok());
    limits.streams = streams.unwrap_or(limits.streams);
    limits.header_time = http.header_time.map_or(limits.header_time, |span| span.0);
    limits.body_time = http.body_time.map_or(limits.body_time, |span| span.0);
    limits.idle_time = http.idle_time.map_or(limits.idle_time, |span| span.0);
    limits.write_time = http.write_time.map_or(limits.write_time, |span| span.0);
    limits.answer_bytes = table.answer_bytes.map_or(limits.answer_bytes, |size| size.0);
    // A part is never more than the whole of which only the size was written.
    let per_caller = limits.answer_bytes_per_caller.min(limits.answer_bytes);
    limits.answer_bytes_per_caller = table.answer_bytes_per_caller.map_or(per_caller, |size| size.0);
    let per_connection = limits.answer_bytes_per_connection.min(limits.answer_bytes_per_caller);
    limits.answer_bytes_per_connection = table.answer_bytes_per_connection.map_or(per_connection, |size| size.0);
    limits.header_bytes = http.max_headers.map_or(limits.header_bytes, |size| size.0);
    limits
}

/// The proxies whose word is taken.
pub(crate) fn networks(settings: &ServeSettings) -> Result<Vec<Network>, CliError> {
    let written = settings.http.trusted_proxies.iter().flatten();
    let read = written.map(|text| text.parse::<Network>()).collect::<Result<_, _>>();
    read.map_err(|error| settings.wrong("http.trusted_proxies", error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        arguments::{BoundsArgs, FolderArgs, ServeArgs},
        config::File,
    };

    fn settings(text: &str) -> ServeSettings {
        let file: File = toml::from_str(text).unwrap();
        ServeSettings::of(&ServeArgs::default(), &FolderArgs::default(), &BoundsArgs::default(), file, None).unwrap()
    }

    #[test]
    fn every_face_counts_the_streams_of_a_caller_together_from_the_start() {
        let of = |text| options(&settings(text)).unwrap();
        assert_eq!(of("").streams, Some(256));
        assert_eq!(of("[limits]\nstreams = 3\n").streams, Some(3));
        assert_eq!(of("[serve]\nmax_in_flight = 7\n").in_flight_total, Some(7));
    }

    #[test]
    fn one_caller_has_no_more_than_a_quarter_of_all_calls_unless_it_is_said() {
        let of = |text| options(&settings(text)).unwrap().in_flight;
        assert_eq!((of(""), of("[serve]\nmax_in_flight = 7\n")), (Some(256), Some(2)));
        assert_eq!(of("[limits]\nin_flight = 1000\n"), Some(1000));
    }

    #[test]
    fn every_limit_of_the_file_is_the_one_that_holds() {
        let limits = faces(&settings(
            "[limits]\nconnections = 2\nper_address = 1\nsockets = 3\nstreams = 4\nanswer_bytes = \"7MiB\"\n\
             answer_bytes_per_caller = \"6MiB\"\nanswer_bytes_per_connection = \"5MiB\"\n\
             [http]\nhandshake_time = \"5s\"\nheader_time = \"6s\"\nbody_time = \"7s\"\nidle_time = \"8s\"\n\
             write_time = \"9s\"\nmax_headers = 10000\n",
        ));
        assert_eq!((limits.connections, limits.per_address, limits.sockets, limits.streams), (2, 1, 3, 4));
        let times = [limits.handshake_time, limits.header_time, limits.body_time, limits.idle_time, limits.write_time];
        assert_eq!(times, [5, 6, 7, 8, 9].map(Duration::from_secs));
        assert_eq!(limits.header_bytes, 10_000);
        let few = faces(&settings("[limits]\nconnections = 100\n"));
        assert_eq!((few.connections, few.per_address), (100, 50));
        let answers = [limits.answer_bytes, limits.answer_bytes_per_caller, limits.answer_bytes_per_connection];
        assert_eq!(answers, [7, 6, 5].map(|mib| mib << 20));
        let little = faces(&settings("[limits]\nanswer_bytes = \"2MiB\"\n"));
        assert_eq!((little.answer_bytes_per_caller, little.answer_bytes_per_connection), (2 << 20, 2 << 20));
    }
}
