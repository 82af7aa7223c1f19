//! Whether the records of the server agree with what clients saw, one by one.

use std::collections::HashMap;

use crate::{ending::Ending, ledger::Seen, plan::What, report::Report};

/// Holds every ending against what its call was to end with. `also` says which other endings a scenario brings about.
pub(crate) fn endings(report: &mut Report, seen: &[Seen], also: impl Fn(&Ending) -> bool) {
    for seen in seen {
        if !seen.what.is_met_by(&seen.ending) && !also(&seen.ending) {
            report.broken(format!(
                "{} ({} by {}) ended with {:?}",
                seen.id,
                seen.what.operation(),
                seen.face,
                seen.ending
            ));
        }
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
