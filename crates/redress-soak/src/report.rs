//! What a scenario found: figures, and what was broken.

use std::fmt::Display;

/// How many broken promises of one scenario are told; past that they are counted.
const TOLD: usize = 12;

#[derive(Debug, Default)]
pub(crate) struct Report {
    figures: Vec<(String, String)>,
    broken: Vec<String>,
    more: usize,
    skipped: Option<String>,
}

impl Report {
    pub(crate) fn figure(&mut self, name: impl Into<String>, value: impl Display) {
        self.figures.push((name.into(), value.to_string()));
    }

    /// Notes what was broken.
    pub(crate) fn broken(&mut self, what: impl Into<String>) {
        if self.broken.len() < TOLD {
            self.broken.push(what.into());
        } else {
            self.more += 1;
        }
    }

    /// Notes what was broken, unless it holds.
    pub(crate) fn check(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.broken(what());
        }
    }

    /// Notes that this machine lacks what the scenario needs.
    pub(crate) fn skip(&mut self, why: impl Into<String>) {
        self.skipped = Some(why.into());
    }

    pub(crate) fn is_broken(&self) -> bool {
        !self.broken.is_empty()
    }

    pub(crate) fn broken_lines(&self) -> impl Iterator<Item = String> {
        let more = (self.more > 0).then(|| format!("and {} more", self.more));
        self.broken.iter().cloned().chain(more)
    }

    pub(crate) fn figures(&self) -> String {
        let figures: Vec<String> = self.figures.iter().map(|(name, value)| format!("{name} {value}")).collect();
        figures.join("; ")
    }

    pub(crate) fn result(&self) -> String {
        match (&self.skipped, self.broken.len() + self.more) {
            (Some(why), 0) => format!("skipped: {why}"),
            (_, 0) => "holds".to_owned(),
            (_, count) => format!("BROKEN, {count}"),
        }
    }
}
