//! Where a limit comes from: a rule, or what holds where no rule says anything.

use std::{
    collections::HashSet,
    sync::{Arc, atomic::AtomicU32},
    time::Duration,
};

use redress_contract::{Caller, Shape};
use redress_core::{LimitedCall, QuotaShare};

use crate::{LimitOptions, LimitRule};

/// What stands in a rule for callers without an id.
const ANONYMOUS: &str = "anonymous";

/// A rule made ready for calls, or what holds where no rule says anything, which fits every call.
#[derive(Debug)]
pub(crate) struct LimitSource {
    rule: LimitRule,
    operations: Vec<SourcePattern>,
    callers: HashSet<String, foldhash::fast::RandomState>,
    /// How often calls may be made, as governor counts it.
    pub(crate) refills: Option<governor::Quota>,
    /// The allowances that calls are taken from.
    quotas: Vec<QuotaShare>,
    /// The calls in flight that its total counts, of all callers together.
    pub(crate) together: Arc<AtomicU32>,
}

#[derive(Debug)]
enum SourcePattern {
    All,
    /// Everything below this prefix, which ends in a dot.
    Below(Box<str>),
    One(Box<str>),
}

impl SourcePattern {
    fn read(text: &str) -> SourcePattern {
        match text.strip_suffix('*') {
            Some("") => SourcePattern::All,
            Some(prefix) => SourcePattern::Below(prefix.into()),
            None => SourcePattern::One(text.into()),
        }
    }

    fn fits(&self, name: &str) -> bool {
        match self {
            SourcePattern::All => true,
            SourcePattern::Below(prefix) => name.starts_with(&**prefix),
            SourcePattern::One(one) => name == &**one,
        }
    }
}

/// Which sources decide about a call, by their places; and how many it says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Chosen {
    pub(crate) rate: Option<usize>,
    /// The calls, or for a subscription the streams, that one caller may have at once.
    pub(crate) places: Option<(usize, u32)>,
    pub(crate) together: Option<(usize, u32)>,
}

/// The sources of these options: the rules in their order, then what holds where they say nothing.
pub(crate) fn sources(options: &LimitOptions) -> Vec<LimitSource> {
    let general = LimitRule {
        rate: options.rate,
        in_flight: options.in_flight,
        streams: options.streams,
        quotas: options.quotas.clone(),
        // The total of the server holds beside that of a rule, not in its place.
        in_flight_total: None,
        ..LimitRule::default()
    };
    let rules = (1..).map(Some).zip(options.rules.iter().cloned());
    rules.chain([(None, general)]).map(|(number, rule)| LimitSource::new(number, rule)).collect()
}

/// Which of the sources decide about `call`.
pub(crate) fn choose(sources: &[LimitSource], call: &LimitedCall<'_>) -> Chosen {
    let mut chosen = Chosen::default();
    let streams = call.operation.shape() == Shape::Subscription;
    for (place, source) in sources.iter().enumerate() {
        if !source.fits(call.operation.name().as_str(), call.caller) {
            continue;
        }
        let rule = &source.rule;
        let places = if streams { rule.streams } else { rule.in_flight };
        let together = rule.in_flight_total.filter(|_| !streams);
        chosen.rate = chosen.rate.or(source.refills.map(|_| place));
        chosen.places = chosen.places.or(places.map(|max| (place, max)));
        chosen.together = chosen.together.or(together.map(|max| (place, max)));
    }
    chosen
}

/// The allowances that `call` is taken from: those of the first source that has any for it.
pub(crate) fn quotas(sources: &[LimitSource], call: &LimitedCall<'_>) -> Vec<QuotaShare> {
    let fits = |source: &&LimitSource| source.fits(call.operation.name().as_str(), call.caller);
    let mut with_quotas = sources.iter().filter(|source| source.has_quotas());
    with_quotas.find(fits).map(|source| source.quotas.clone()).unwrap_or_default()
}

impl LimitSource {
    /// The rule of this number, or what holds where no rule says anything.
    fn new(number: Option<usize>, rule: LimitRule) -> LimitSource {
        LimitSource {
            quotas: rule.shares(number),
            operations: rule.operations.iter().map(|pattern| SourcePattern::read(pattern)).collect(),
            callers: rule.callers.iter().cloned().collect(),
            refills: rule.rate.map(|rate| rate.quota()),
            together: Arc::default(),
            rule,
        }
    }

    fn fits(&self, operation: &str, caller: Option<&Caller>) -> bool {
        let operation_fits = || self.operations.iter().any(|pattern| pattern.fits(operation));
        // Whose id is the word itself is known, and no stranger.
        let caller_fits = || match caller.map(Caller::id) {
            None => self.callers.contains(ANONYMOUS),
            Some(id) => id != ANONYMOUS && self.callers.contains(id),
        };
        (self.operations.is_empty() || operation_fits()) && (self.callers.is_empty() || caller_fits())
    }

    /// Whether it is about the same calls, so that counts of them go on.
    pub(crate) fn counts_the_same(&self, other: &LimitSource) -> bool {
        self.rule.operations == other.rule.operations && self.rule.callers == other.rule.callers
    }

    /// Whether it takes calls from an allowance.
    pub(crate) fn has_quotas(&self) -> bool {
        !self.quotas.is_empty()
    }

    /// Whether any of its limits counts calls that run.
    pub(crate) fn counts_calls(&self) -> bool {
        self.rule.in_flight.is_some() || self.rule.in_flight_total.is_some()
    }

    /// Whether any of its limits counts streams that are read.
    pub(crate) fn counts_streams(&self) -> bool {
        self.rule.streams.is_some()
    }

    /// How long a caller who has used up its burst has to be silent to have it all again.
    pub(crate) fn refill(&self) -> Duration {
        self.refills.map_or(Duration::ZERO, |quota| quota.replenish_interval().saturating_mul(quota.burst_size().get()))
    }
}

#[cfg(test)]
mod tests {
    use redress_contract::OperationDeclaration;

    use super::*;

    fn chosen(options: &LimitOptions, operation: &OperationDeclaration, caller: Option<&str>) -> Chosen {
        let caller = caller.map(Caller::new);
        choose(&sources(options), &LimitedCall::new(operation, caller.as_ref()))
    }

    fn options() -> LimitOptions {
        let rate = |text: &str| Some(text.parse().unwrap());
        let mut ada = LimitRule::new(["files.*"]).for_callers(["ada"]);
        ada.rate = rate("10/s");
        let mut reading = LimitRule::new(["files.read", "notes.read"]);
        reading.in_flight = Some(4);
        reading.rate = rate("50/s");
        let mut anonymous = LimitRule::new(["*"]).for_callers(["anonymous"]);
        anonymous.rate = rate("1/s");
        anonymous.in_flight_total = Some(8);
        LimitOptions {
            rules: vec![ada, reading, anonymous],
            rate: rate("100/s"),
            in_flight: Some(64),
            streams: Some(16),
            ..LimitOptions::default()
        }
    }

    #[test]
    fn the_first_rule_that_fits_and_says_something_decides_each_limit_on_its_own() {
        let read = OperationDeclaration::query("files.read");
        let chosen = chosen(&options(), &read, Some("ada"));
        assert_eq!(chosen, Chosen { rate: Some(0), places: Some((1, 4)), together: None });
    }

    #[test]
    fn where_no_rule_says_anything_the_general_limit_decides() {
        let write = OperationDeclaration::mutation("files.write");
        assert_eq!(
            chosen(&options(), &write, Some("ben")),
            Chosen { rate: Some(3), places: Some((3, 64)), together: None }
        );
    }

    #[test]
    fn the_anonymous_have_rules_of_their_own() {
        let write = OperationDeclaration::mutation("files.write");
        assert_eq!(
            chosen(&options(), &write, None),
            Chosen { rate: Some(2), places: Some((3, 64)), together: Some((2, 8)) }
        );
        assert_eq!(chosen(&options(), &write, Some("anonymous")), chosen(&options(), &write, Some("ben")), "is known");
    }

    #[test]
    fn the_quotas_of_the_first_rule_that_has_any_for_a_call_hold_all_together() {
        let mut ada = LimitRule::new(["files.*"]).for_callers(["ada"]);
        ada.quotas = vec!["5/h".parse().unwrap(), "7/month".parse().unwrap()];
        let mut places = LimitRule::new(["files.*"]);
        places.in_flight = Some(1);
        let quotas = vec!["9/day".parse().unwrap()];
        let options = LimitOptions { rules: vec![places, ada], quotas, ..LimitOptions::default() };
        let of = |operation: &str, caller: Option<&str>| {
            let (operation, caller) = (OperationDeclaration::query(operation), caller.map(Caller::new));
            let shares = quotas_of(&options, &LimitedCall::new(&operation, caller.as_ref()));
            let shown = |share: &QuotaShare| format!("{} {} {}", share.policy, share.limit, share.rule);
            shares.iter().map(shown).collect::<Vec<_>>()
        };
        let own = [r#"rule2-hour 5 files.* for "ada""#, r#"rule2-month 7 files.* for "ada""#];
        assert_eq!(of("files.read", Some("ada")), own);
        assert_eq!(of("files.read", Some("ben")), ["day 9 *"]);
        assert_eq!(of("notes.read", None), ["day 9 *"]);
    }

    fn quotas_of(options: &LimitOptions, call: &LimitedCall<'_>) -> Vec<QuotaShare> {
        quotas(&sources(options), call)
    }

    #[test]
    fn a_namespace_ends_at_its_dot() {
        let chosen = chosen(&options(), &OperationDeclaration::query("filesystem.read"), Some("ada"));
        assert_eq!(chosen.rate, Some(3));
    }

    #[test]
    fn a_subscription_takes_a_place_among_streams() {
        let watch = OperationDeclaration::subscription("files.read");
        assert_eq!(chosen(&options(), &watch, Some("ben")).places, Some((3, 16)));
    }
}
