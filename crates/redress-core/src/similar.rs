//! What exists and is near to what was asked for.
//!
//! Who asks for what does not exist is told what does, and nothing limits how often that is done: so it must cost no more than a
//! call, whatever the name is and however many others there are. Every name has a sketch, two of which are compared in a few
//! instructions; only the most promising names are then compared letter by letter.

/// How many near names are worth showing.
pub(crate) const SHOWN: usize = 5;
/// How many candidates that a call site gives are looked at.
const LOOKED_AT: usize = 4_096;
/// How many names are compared letter by letter.
const SCORED: usize = 64;
/// How many pairs of letters are compared: two names take as many as the one is long times the other.
const COMPARED: usize = 1 << 16;
/// How many letters of a name are looked at.
const LETTERS: usize = 128;
/// How alike two names must be, from 0 to 1.
const ALIKE: f64 = 0.72;

/// Which pairs of letters a name has, as a Bloom filter of one hash: names that share many are worth a closer look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NameSketch(u128);

impl NameSketch {
    pub(crate) fn of(name: &str) -> NameSketch {
        let mut before = 0_u32;
        let pairs = letters(name).map(|letter| {
            let pair = before.wrapping_mul(0x9E37_79B1) ^ u32::from(letter).wrapping_mul(0x85EB_CA77);
            before = u32::from(letter);
            1 << (pair >> 25)
        });
        NameSketch(pairs.fold(0, |sketch, bit: u128| sketch | bit))
    }

    /// How much of both is shared, from 0 to 64 (the Dice coefficient).
    fn shares(self, other: NameSketch) -> u32 {
        let both = (self.0 & other.0).count_ones();
        (128 * both).checked_div(self.0.count_ones() + other.0.count_ones()).unwrap_or(0)
    }
}

/// The candidates nearest to `wanted`, nearest first.
pub(crate) fn nearest(wanted: &str, candidates: impl IntoIterator<Item = String>) -> Vec<String> {
    let names: Vec<String> = candidates.into_iter().take(LOOKED_AT).collect();
    nearest_names(wanted, names.iter().map(String::as_str))
}

/// Those of `names` that are nearest to `wanted`, nearest first, a handful at the most: for whoever says that there is none of that
/// name. What is long or stands among thousands costs little more.
///
/// ```
/// assert_eq!(redress_core::nearest_names("files.raed", ["users.list", "files.read"]), ["files.read"]);
/// ```
pub fn nearest_names<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    nearest_of(wanted, names.into_iter().map(|name| (NameSketch::of(name), name)), Some)
}

/// The same, of candidates whose sketches are known. `name` says what a candidate is called, unless it is not to be shown; only the
/// most promising are asked.
pub(crate) fn nearest_of<'a, C: Copy>(
    wanted: &str,
    candidates: impl Iterator<Item = (NameSketch, C)>,
    name: impl Fn(C) -> Option<&'a str>,
) -> Vec<String> {
    let sketch = NameSketch::of(wanted);
    let mut ranked: Vec<(u32, C)> = candidates.map(|(other, candidate)| (sketch.shares(other), candidate)).collect();
    // Both sorts are stable, so equals keep the order in which they were given.
    ranked.sort_by_key(|(shared, _)| std::cmp::Reverse(*shared));

    let folded = fold(wanted);
    let length = folded.chars().count();
    let mut left = COMPARED;
    let mut scored: Vec<(f64, &str)> = ranked
        .into_iter()
        .filter_map(|(_, candidate)| name(candidate))
        .take(SCORED)
        .filter_map(|candidate| {
            let other = fold(candidate);
            left = left.saturating_sub(1 + length * other.chars().count());
            let score = if left > 0 { score(&folded, &other) } else { equality(&folded, &other) };
            (score >= ALIKE).then_some((score, candidate))
        })
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.truncate(SHOWN);
    scored.into_iter().map(|(_, candidate)| candidate.to_owned()).collect()
}

fn letters(name: &str) -> impl Iterator<Item = char> {
    name.chars().take(LETTERS).flat_map(char::to_lowercase)
}

fn fold(name: &str) -> String {
    letters(name).collect()
}

fn equality(wanted: &str, candidate: &str) -> f64 {
    f64::from(u8::from(wanted == candidate))
}

fn score(wanted: &str, candidate: &str) -> f64 {
    if wanted == candidate {
        1.0
    } else if !wanted.is_empty() && (candidate.contains(wanted) || wanted.contains(candidate)) && !candidate.is_empty()
    {
        0.95
    } else {
        strsim::jaro_winkler(wanted, candidate).min(0.94)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn near(wanted: &str, candidates: &[&str]) -> Vec<String> {
        nearest(wanted, candidates.iter().map(|name| (*name).to_owned()))
    }

    #[test]
    fn case_and_typing_mistakes_are_near_and_strangers_are_not() {
        assert_eq!(near("notes/a.md", &["notes/A.md", "zzz"]), ["notes/A.md"]);
        assert_eq!(near("files.raed", &["files.read", "users.list"])[0], "files.read");
        assert!(near("files.read", &["qqq", ""]).is_empty());
    }

    #[test]
    fn at_most_five_are_shown_nearest_first() {
        let found = near("file", &["file1", "file", "files", "file2", "file3", "file4", "file5"]);
        assert_eq!(found.len(), 5);
        assert_eq!(found[0], "file");
    }

    #[test]
    fn of_thousands_the_nearest_is_found_wherever_it_stands() {
        let mut names: Vec<String> = (0..4_000).map(|n| format!("store.group_{}.action_{n}", n % 70)).collect();
        names.push("store.orders.refund_order".to_owned());
        assert_eq!(nearest("store.orders.refnud_order", names)[0], "store.orders.refund_order");
    }

    #[test]
    fn among_thousands_few_are_compared_letter_by_letter_whatever_is_asked_for() {
        let names: Vec<String> = (0..5_000).map(|n| format!("up.t.op_{n}")).collect();
        for wanted in ["a.b".to_owned(), format!("up.t.op_{}", "abcdefghij".repeat(25)), "up.t.op_x".to_owned()] {
            let asked = Cell::new(0);
            let sketched = names.iter().map(|name| (NameSketch::of(name), name.as_str()));
            nearest_of(&wanted, sketched, |name| {
                asked.set(asked.get() + 1);
                Some(name)
            });
            assert!(asked.get() <= SCORED, "{} of {wanted}", asked.get());
        }
    }
}
