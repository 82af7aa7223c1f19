//! Whether the records of the server agree with what clients saw, one by one.

use std::collections::HashMap;

use crate::{
    ending::Ending,
    ledger::{Ledger, Seen},
    plan::What,
    records::{Key, Records},
    report::Report,
};

/// Holds every ending against what its call was to end with. Who is turned away is told for how long, and gets its answer
/// in the end. `also` says which other endings a scenario brings about.
pub(crate) fn endings(report: &mut Report, ledger: &Ledger, also: impl Fn(&Ending) -> bool) {
    for seen in ledger.seen() {
        let Seen { id, what, ending, face, .. } = &seen;
        let told = matches!(ending, Ending::Failure(told) if told.retry_after_ms.is_some());
        if ending.is_turned_away() {
            report.check(told, || format!("{id} was turned away and not told for how long"));
        } else if !what.is_met_by(ending) && !also(ending) {
            report.broken(format!("{id} ({} by {face}) ended with {ending:?}", what.operation()));
        }
    }
    for id in ledger.given_up() {
        report.broken(format!("{id} was turned away until its client had no more patience"));
    }
}

/// Holds the effects against what clients saw of the calls that had them.
///
/// Several calls of one entry are repetitions under one key: together they have one effect at most, all good answers
/// are the same, and that nobody knows the outcome is said only where somebody was cut off.
pub(crate) fn effects(report: &mut Report, seen: &[Seen], effects: &HashMap<String, usize>) {
    let mut entries: HashMap<&str, Vec<&Seen>> = HashMap::new();
    for seen in seen {
        if let What::Add { entry, .. } = &seen.what {
            entries.entry(entry).or_default().push(seen);
        }
    }
    for (entry, attempts) in &entries {
        let count = effects.get(*entry).copied().unwrap_or(0);
        if let Some(why) = disagreement(attempts, count) {
            let endings: Vec<&Ending> = attempts.iter().map(|seen| &seen.ending).collect();
            report.broken(format!("{entry} has {count} effects: {why}; {endings:?}"));
        }
    }
    for entry in effects.keys().filter(|entry| !entries.contains_key(entry.as_str())) {
        report.broken(format!("{entry} was added, and nobody asked for it"));
    }
}

/// What is wrong with an entry that was asked for so and has so many effects.
fn disagreement(attempts: &[&Seen], count: usize) -> Option<&'static str> {
    let outputs: Vec<&Ending> =
        attempts.iter().map(|seen| &seen.ending).filter(|ending| matches!(ending, Ending::Output(_))).collect();
    let cut = attempts.iter().any(|seen| !seen.ending.is_answer());
    let unknown = attempts.iter().any(|seen| seen.ending.code() == Some("OUTCOME_UNKNOWN"));
    let called_off = attempts.iter().any(|seen| matches!(seen.ending.code(), Some("CANCELLED" | "TIMEOUT")));
    if count > 1 {
        return Some("it ran more than once");
    }
    if !outputs.is_empty() && count == 0 {
        return Some("it was answered well and has no effect");
    }
    if outputs.windows(2).any(|two| two[0] != two[1]) {
        return Some("a repetition was answered otherwise");
    }
    if unknown && !cut && !called_off {
        return Some("its outcome was called unknown, and nobody was cut off");
    }
    if outputs.is_empty() && !cut && !called_off && !unknown && count > 0 {
        return Some("it was refused and has an effect");
    }
    None
}

/// Holds the audit against what clients saw, record by record.
///
/// Whoever was answered finds one record of the call, with the same operation, caller, face and code. Those who were
/// turned away for want of room find none. Those who were cut off find one at most; and there is no record of a call that
/// nobody made. `others` are callers whose calls are in no ledger.
pub(crate) fn audit(report: &mut Report, seen: &[Seen], records: &Records, others: &[&str]) {
    let mut made = std::collections::HashSet::new();
    for seen in seen {
        made.insert(seen.id.as_str());
        let found = records.audit.get(&seen.id).map_or([].as_slice(), Vec::as_slice);
        if let Some(why) = misrecorded(seen, found) {
            report.broken(format!(
                "{} is recorded {} times: {why}; {:?}, {found:?}",
                seen.id,
                found.len(),
                seen.ending
            ));
        }
    }
    let unknown = |records: &&Vec<redress_state::AuditRecord>| {
        records.iter().any(|record| {
            !made.contains(record.request_id.as_str())
                && record.caller.as_deref().is_none_or(|caller| !others.contains(&caller))
        })
    };
    for records in records.audit.values().filter(unknown) {
        report.broken(format!("there is a record of a call that nobody made: {records:?}"));
    }
}

fn misrecorded(seen: &Seen, found: &[redress_state::AuditRecord]) -> Option<&'static str> {
    let [record] = found else {
        return match (found.len(), &seen.ending) {
            (0, Ending::Cut(_) | Ending::Silent) => None,
            (0, ending) if ending.is_turned_away() => None,
            // Nobody is known by a token that has ended.
            (0, ending) if ending.code() == Some("AUTH_REQUIRED") => None,
            (0, _) => Some("it was answered"),
            (_, _) => Some("it was one call"),
        };
    };
    let code = match &seen.ending {
        Ending::Output(_) => "ok",
        Ending::Failure(told) => &told.code,
        Ending::Cut(_) | Ending::Silent => &record.code,
    };
    // A stream that had begun and had to end as the server went down is told that it may come again.
    let ended_early = seen.what.is_stream() && seen.ending.is_turned_away() && record.code == "CANCELLED";
    if record.code != code && !ended_early {
        return Some("it was answered otherwise");
    }
    if seen.ending.is_turned_away() && !seen.what.is_stream() {
        return Some("it was turned away");
    }
    let same = record.operation == seen.what.operation()
        && record.caller.as_deref() == Some(&*seen.caller)
        && record.face == seen.face;
    (!same).then_some("it was another operation, caller or face")
}

/// Holds the idempotency keys that are kept against what clients saw of the calls that had them.
pub(crate) fn keys(report: &mut Report, seen: &[Seen], records: &Records) {
    let mut known = std::collections::HashSet::new();
    for seen in seen.iter().filter(|seen| matches!(seen.what, What::Add { .. })) {
        let Some(key) = &seen.key else { continue };
        let place = (seen.caller.to_string(), key.clone());
        if let Some(why) = miskept(&seen.ending, records.keys.get(&place)) {
            report.broken(format!(
                "key {key} of {}: {why}; {:?}, {:?}",
                seen.id,
                seen.ending,
                records.keys.get(&place)
            ));
        }
        known.insert(place);
    }
    for key in records.keys.keys().filter(|key| !known.contains(key)) {
        report.broken(format!("there is a key that nobody used: {key:?}"));
    }
}

fn miskept(ending: &Ending, kept: Option<&Key>) -> Option<&'static str> {
    let stage = kept.map(|kept| kept.stage.as_str());
    match (ending, stage) {
        (Ending::Output(output), Some("output")) => {
            let same = kept.is_some_and(|kept| kept.outcome == *output);
            (!same).then_some("another answer is kept")
        }
        (Ending::Output(_), _) => Some("it was answered well, and that is not kept"),
        (Ending::Failure(told), Some("problem")) if told.code == "ENTRY_REFUSED" => None,
        (Ending::Failure(told), Some("lost")) if told.code == "OUTCOME_UNKNOWN" => None,
        (Ending::Failure(told), _) if matches!(told.code.as_str(), "ENTRY_REFUSED" | "OUTCOME_UNKNOWN") => {
            Some("it was refused, and that is not kept")
        }
        (_, Some("running")) => Some("it is kept as running after everything has ended"),
        (Ending::Failure(_) | Ending::Cut(_) | Ending::Silent, _) => None,
    }
}

#[cfg(test)]
mod tests;
