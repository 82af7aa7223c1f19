//! A comparison that never fails proves nothing, so each way to disagree is shown to be found.

use std::time::Duration;

use redress_state::AuditRecord;
use serde_json::{Value, json};

use super::*;
use crate::{
    client::{Answered, Identity},
    ending::ObservedFailure,
    plan::{Message, Way},
};

fn add(entry: &str) -> What {
    What::Add { entry: entry.to_owned(), before_ms: 0, after_ms: 0, refuse: false }
}

fn failure(code: &str) -> Ending {
    Ending::Failure(ObservedFailure { code: code.to_owned(), retry_after_ms: None, renews_at: None })
}

fn output(run: &str) -> Ending {
    Ending::Output(json!({"entry": "e", "run": run}))
}

fn cut() -> Ending {
    Ending::Cut("the client went away".to_owned())
}

/// A ledger with these calls of the entry `e` under one key, named by their places.
fn ledger(endings: &[Ending]) -> Ledger {
    let ledger = Ledger::default();
    let identity = Identity { caller: "ada".into(), token: "".into() };
    for (place, ending) in endings.iter().enumerate() {
        let message = Message::one(place.to_string(), Way::Http1, add("e")).with_key("k");
        ledger.enter(&message, &identity, &Answered { endings: vec![ending.clone()], took: Duration::ZERO });
    }
    ledger
}

/// How many lines a comparison told.
fn told(compare: impl FnOnce(&mut Report)) -> usize {
    let mut report = Report::default();
    compare(&mut report);
    report.broken_lines().count()
}

fn with_effects(endings: &[Ending], count: usize) -> usize {
    let counted = if count == 0 { HashMap::new() } else { HashMap::from([("e".to_owned(), count)]) };
    told(|report| effects(report, &ledger(endings).seen(), &counted))
}

#[test]
fn a_key_with_two_effects_is_found_however_it_was_answered() {
    for endings in [[output("1"), output("1")], [cut(), output("1")], [cut(), failure("OUTCOME_UNKNOWN")]] {
        assert_eq!(with_effects(&endings, 1), 0, "{endings:?}");
        assert_eq!(with_effects(&endings, 2), 1, "{endings:?}");
    }
}

#[test]
fn a_good_answer_without_its_effect_and_an_effect_of_a_refused_call_are_found() {
    assert_eq!(with_effects(&[output("1")], 0), 1);
    assert_eq!(with_effects(&[failure("OVERLOADED")], 0), 0);
    assert_eq!(with_effects(&[failure("OVERLOADED")], 1), 1);
    assert_eq!(with_effects(&[cut()], 1), 0);
}

#[test]
fn a_repetition_that_is_answered_otherwise_is_found() {
    assert_eq!(with_effects(&[output("1"), output("2")], 1), 1);
}

#[test]
fn an_outcome_may_be_unknown_only_where_somebody_was_cut_off() {
    assert_eq!(with_effects(&[output("1"), failure("OUTCOME_UNKNOWN")], 1), 1);
    assert_eq!(with_effects(&[cut(), failure("OUTCOME_UNKNOWN")], 0), 0);
}

#[test]
fn an_effect_that_nobody_asked_for_is_found() {
    let strange = HashMap::from([("strange".to_owned(), 1)]);
    assert_eq!(told(|report| effects(report, &[], &strange)), 1);
}

/// A record of the call at the first place, with these members in the place of the right ones.
fn record(changed: &[(usize, Value)]) -> AuditRecord {
    let mut kept = json!([0, "0", null, "http", "ada", "soak.add", "ok", 5, null, 0]);
    for (place, value) in changed {
        kept[*place] = value.clone();
    }
    serde_json::from_value(kept).unwrap()
}

fn with_records(ending: Ending, records: Vec<AuditRecord>) -> usize {
    let mut audit_records: HashMap<String, Vec<AuditRecord>> = HashMap::new();
    for record in records {
        audit_records.entry(record.request_id.clone()).or_default().push(record);
    }
    let records = Records { audit: audit_records, keys: HashMap::new() };
    told(|report| audit(report, &ledger(&[ending]).seen(), &records, &["other"]))
}

#[test]
fn an_answered_call_has_one_record_that_says_the_same() {
    assert_eq!(with_records(output("1"), vec![record(&[])]), 0);
    assert_eq!(with_records(output("1"), vec![]), 1);
    assert_eq!(with_records(output("1"), vec![record(&[]), record(&[])]), 1);
    for (place, value) in [(3, "mcp"), (4, "bob"), (5, "soak.read"), (6, "TIMEOUT")] {
        assert_eq!(with_records(output("1"), vec![record(&[(place, value.into())])]), 1, "{value}");
    }
}

#[test]
fn a_call_that_was_cut_off_has_one_record_at_most_and_one_that_was_turned_away_none() {
    assert_eq!(with_records(cut(), vec![]), 0);
    assert_eq!(with_records(cut(), vec![record(&[(6, "CANCELLED".into())])]), 0);
    assert_eq!(with_records(cut(), vec![record(&[]), record(&[])]), 1);
    assert_eq!(with_records(failure("RATE_LIMITED"), vec![]), 0);
    assert_eq!(with_records(failure("RATE_LIMITED"), vec![record(&[(6, "RATE_LIMITED".into())])]), 1);
}

#[test]
fn a_record_of_a_call_that_nobody_made_is_found_unless_its_caller_keeps_no_ledger() {
    let strange = |caller: &str| record(&[(1, "strange".into()), (4, caller.into())]);
    assert_eq!(with_records(cut(), vec![strange("ada")]), 1);
    assert_eq!(with_records(cut(), vec![strange("other")]), 0);
}

fn with_key(ending: Ending, kept: Option<(&str, Value)>) -> usize {
    let kept = kept.map(|(stage, outcome)| Key { stage: stage.to_owned(), outcome });
    let keys_kept = kept.map(|kept| (("ada".to_owned(), "k".to_owned()), kept)).into_iter().collect();
    let records = Records { audit: HashMap::new(), keys: keys_kept };
    told(|report| keys(report, &ledger(&[ending]).seen(), &records))
}

#[test]
fn a_key_is_kept_with_the_answer_that_its_client_saw() {
    let same = json!({"entry": "e", "run": "1"});
    assert_eq!(with_key(output("1"), Some(("output", same.clone()))), 0);
    assert_eq!(with_key(output("2"), Some(("output", same.clone()))), 1);
    assert_eq!(with_key(output("1"), Some(("lost", Value::Null))), 1);
    assert_eq!(with_key(output("1"), None), 1);
    assert_eq!(with_key(failure("ENTRY_REFUSED"), Some(("problem", Value::Null))), 0);
    assert_eq!(with_key(failure("ENTRY_REFUSED"), None), 1);
    assert_eq!(with_key(failure("OUTCOME_UNKNOWN"), Some(("lost", Value::Null))), 0);
    assert_eq!(with_key(failure("OUTCOME_UNKNOWN"), Some(("output", same))), 1);
    assert_eq!(with_key(cut(), Some(("running", Value::Null))), 1);
    assert_eq!(with_key(cut(), None), 0);
}

#[test]
fn whoever_is_turned_away_is_told_for_how_long_and_answered_in_the_end() {
    let away = |retry_after_ms| {
        Ending::Failure(ObservedFailure { code: "OVERLOADED".to_owned(), retry_after_ms, renews_at: None })
    };
    let compare = |ledger: &Ledger| told(|report| super::endings(report, ledger, |_| false));
    assert_eq!(compare(&ledger(&[away(Some(5)), output("1")])), 0);
    assert_eq!(compare(&ledger(&[away(None), output("1")])), 1);
    let given_up = ledger(&[away(Some(5))]);
    given_up.gave_up("0");
    assert_eq!(compare(&given_up), 1);
    assert_eq!(compare(&ledger(&[failure("TIMEOUT")])), 1);
}
