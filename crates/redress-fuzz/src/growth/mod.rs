//! How work grows with what is sent: instructions at n, 2n and 4n bytes, through the doors that outside bytes come in by.
//!
//! `scripts/growth` runs this under callgrind, which dumps what was counted, on all threads, whenever `measured` is
//! entered; [`judge`] reads those dumps. A count of instructions is the same on every machine and under every load, so
//! it can be held against a bound where a time cannot.
//!
//! What is bounded is the part of the cost that comes with the bytes: the cost of the smallest message of a case is
//! taken off first.

mod cases;
mod door;
mod operations;

use std::{fs, path::Path};

use cases::{CASES, Case};
use door::Door;

/// How much more four times the bytes may cost: a quarter more than four times. The square would be sixteen times.
const MAX_GROWTH: f64 = 5.0;
/// The most instructions of the largest message in an unoptimised build: for a schema of many branches, and for each byte.
const MAX: (u64, u64) = (200_000_000, 25_000);
/// So many instructions are noise in any message: a table that grows, a timer that fires, a thread that starts.
const NOISE: u64 = 1_000_000;

/// Sends every message of every case. The messages are made first, so that nothing but sending is counted.
pub fn run(only: Option<&str>) {
    let cases: Vec<(&Case, Vec<Vec<u8>>)> = chosen(only).map(|case| (case, case.messages())).collect();
    let door = Door::new();
    for (case, messages) in &cases {
        // What is made on first use is made here.
        for message in messages.iter().take(2) {
            door.send(case.way, message);
        }
    }
    for (case, messages) in &cases {
        for message in messages {
            measured(&door, case, message);
        }
    }
    // The last dump begins here, and counts what came before.
    measured(&door, &cases::NOTHING, b"");
}

/// What is counted. Its name is known to `scripts/growth`.
#[inline(never)]
fn measured(door: &Door, case: &Case, message: &[u8]) {
    door.send(case.way, message);
}

/// Reads what was counted of [`run`], in the dumps of `folder`, and says of each case whether it grows as it may.
/// What fails comes back.
#[expect(clippy::print_stdout, reason = "the table is what whoever runs this wants")]
pub fn judge(folder: &Path, only: Option<&str>) -> Result<Vec<String>, String> {
    // The first dump is what came before the first message, and each other one ends with the next.
    let counted: Vec<u64> = (1..).map_while(|part| total(&folder.join(format!("counted.{part}")))).skip(1).collect();
    let cases: Vec<&Case> = chosen(only).collect();
    let expected = cases.len() * SIZES;
    if counted.len() < expected {
        return Err(format!("{} counts for {expected} messages", counted.len()));
    }
    println!("{:<44} {:>9} {:>9} {:>9} {:>9} {:>7}", "case", "bytes", "/byte", "at 2n", "at 4n", "growth");
    let mut failed = Vec::new();
    for (case, counts) in cases.iter().zip(counted.chunks(SIZES)) {
        let lengths: Vec<u64> = case.messages().iter().map(|message| message.len() as u64).collect();
        let verdict = Verdict::of(counts, &lengths);
        println!("{:<44} {:>9} {verdict}", case.name, lengths[SIZES - 1]);
        match (verdict.fault(case.growth), case.must_fail) {
            (Some(_), true) | (None, false) => {}
            (Some(why), false) => failed.push(format!("{}: {why}", case.name)),
            (None, true) => failed.push(format!("{}: it grows with the square, and that was not seen", case.name)),
        }
    }
    Ok(failed)
}

/// How many messages a case has: the smallest, and those of n, 2n and 4n bytes.
const SIZES: usize = 4;

fn chosen(only: Option<&str>) -> impl Iterator<Item = &'static Case> {
    let only = only.map(str::to_owned);
    CASES.iter().filter(move |case| only.as_ref().is_none_or(|only| case.name.contains(only.as_str())))
}

/// The sum in a dump of callgrind.
fn total(dump: &Path) -> Option<u64> {
    let text = fs::read_to_string(dump).ok()?;
    let sum = text.lines().find_map(|line| line.strip_prefix("totals: ").or_else(|| line.strip_prefix("summary: ")));
    sum?.trim().parse().ok()
}

/// What the counts of one case say.
struct Verdict {
    per_byte: [u64; 3],
    growth: f64,
    grown: u64,
    max: u64,
}

impl Verdict {
    fn of(counts: &[u64], lengths: &[u64]) -> Verdict {
        let [min, once, twice, four_times] = [0, 1, 2, 3].map(|at| counts.get(at).copied().unwrap_or_default());
        // The smallest message may take another way than the others, which then tell themselves what they all cost.
        let fixed = if min < once { min } else { (2 * once).saturating_sub(twice) };
        let [none, first, second, fourth] = [0, 1, 2, 3].map(|at| lengths.get(at).copied().unwrap_or_default());
        let more = |count: u64| count.saturating_sub(fixed);
        let per_byte = [(once, first), (twice, second), (four_times, fourth)]
            .map(|(count, length)| more(count) / length.saturating_sub(none).max(1));
        let (constant, for_each) = MAX;
        Verdict {
            per_byte,
            growth: more(four_times) as f64 / more(once).max(1) as f64,
            grown: more(four_times),
            max: constant + for_each * fourth,
        }
    }

    fn fault(&self, most_growth: f64) -> Option<String> {
        let once = self.grown as f64 / self.growth.max(f64::MIN_POSITIVE);
        if self.grown as f64 > most_growth * once + NOISE as f64 {
            Some(format!("four times the bytes cost {:.1} times as much", self.growth))
        } else if self.grown > self.max {
            Some(format!("they cost {} instructions, and may cost {}", self.grown, self.max))
        } else {
            None
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [once, twice, four_times] = self.per_byte;
        write!(f, "{once:>9} {twice:>9} {four_times:>9} ")?;
        if self.grown < NOISE { write!(f, "{:>7}", "flat") } else { write!(f, "{:>7.2}", self.growth) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(counts: [u64; 4]) -> Option<String> {
        Verdict::of(&counts, &[2, 1002, 2002, 4002]).fault(MAX_GROWTH)
    }

    #[test]
    fn what_grows_with_the_bytes_passes_and_what_grows_faster_does_not() {
        assert_eq!(fault([1_000, 1_001_000, 2_001_000, 4_001_000]), None);
        assert!(fault([1_000, 1_001_000, 4_001_000, 16_001_000]).is_some_and(|why| why.contains("16.0 times")));
        assert!(fault([0, 100_000_000, 200_000_000, 400_000_000]).is_some_and(|why| why.contains("400000000 instr")));
        assert_eq!(fault([1_000_000, 1_000_100, 1_000_900, 1_300_000]), None, "that is noise");
        // The smallest one was refused for something else, which took longer.
        assert_eq!(fault([9_000_000, 2_000_000, 3_000_000, 5_000_000]), None);
        assert!(fault([9_000_000, 2_000_000, 5_000_000, 17_000_000]).is_some());
    }

    #[test]
    fn every_case_has_a_name_of_its_own_and_messages_that_grow() {
        for (place, case) in CASES.iter().enumerate() {
            assert!(CASES.iter().take(place).all(|other| other.name != case.name), "{}", case.name);
            let lengths: Vec<usize> = case.messages().iter().map(Vec::len).collect();
            assert!(lengths.is_sorted() && lengths[3] > 3 * (lengths[1] - lengths[0]), "{}: {lengths:?}", case.name);
        }
    }
}
