//! Where the suite and we are known to part, and why. The lists may only get shorter.

use std::collections::BTreeMap;

use super::groups::{Group, Test};

/// Verdicts that are not as they should be.
struct Row {
    file: &'static str,
    /// What is in the description of the group.
    group: &'static str,
    /// Of which verdicts: of the operation against the suite, of a face or an explanation against the operation.
    of: &'static str,
    count: usize,
    reason: &'static str,
}

const KNOWN: &[Row] = &[
    Row {
        file: "format.json",
        group: " format",
        of: "operation",
        count: 19,
        reason: "a format is checked here; the suite expects a reader that only takes note of it",
    },
    Row {
        file: "defs.json",
        group: "against metaschema",
        of: "explanation",
        count: 2,
        reason: "a value that should be a schema is refused without saying which of the standard's rules it breaks",
    },
    Row {
        file: "ref.json",
        group: "remote ref, containing refs itself",
        of: "explanation",
        count: 2,
        reason: "a value that should be a schema is refused without saying which of the standard's rules it breaks",
    },
];

/// Groups whose schema cannot be registered.
struct RefusedRow {
    file: &'static str,
    /// What is in the finding.
    says: &'static str,
    count: usize,
    reason: &'static str,
}

const REFUSED: &[RefusedRow] = &[
    RefusedRow {
        file: "dynamicRef.json",
        says: "cannot be resolved within the schema",
        count: 2 * 5,
        reason: "it refers to a document on a server, and nothing is fetched",
    },
    RefusedRow {
        file: "refRemote.json",
        says: "cannot be resolved within the schema",
        count: 2 * 15,
        reason: "it refers to a document on a server, and nothing is fetched",
    },
    RefusedRow {
        file: "vocabulary.json",
        says: "only draft 2020-12 is understood",
        count: 2,
        reason: "it is written in a dialect of its own, which its document on a server describes",
    },
];

/// What was met.
#[derive(Default)]
pub(super) struct Known {
    verdicts: BTreeMap<usize, usize>,
    refused: BTreeMap<usize, usize>,
    unknown: Vec<String>,
}

impl Known {
    pub(super) fn verdict(&mut self, group: &Group, test: &Test, of: &str, is_right: bool) {
        if is_right {
            return;
        }
        let row = |row: &Row| row.file == group.file && group.description.contains(row.group) && row.of == of;
        match KNOWN.iter().position(row) {
            Some(row) => *self.verdicts.entry(row).or_default() += 1,
            None => self.unknown.push(format!("{of}: {}: {}", group.title(), test.description)),
        }
    }

    pub(super) fn refused(&mut self, group: &Group, says: &str) {
        let row = |row: &RefusedRow| row.file == group.file && says.contains(row.says);
        match REFUSED.iter().position(row) {
            Some(row) => *self.refused.entry(row).or_default() += 1,
            None => self.unknown.push(format!("refused: {}: {says}", group.title())),
        }
    }

    #[track_caller]
    fn assert_known(&self) {
        assert!(self.unknown.is_empty(), "{} are not known:\n{}", self.unknown.len(), self.unknown.join("\n"));
    }

    #[track_caller]
    pub(super) fn assert_verdicts_as_listed(&self) {
        self.assert_known();
        for (place, row) in KNOWN.iter().enumerate() {
            let met = self.verdicts.get(&place).copied().unwrap_or_default();
            assert_eq!(
                met, row.count,
                "{}: {}: {}; the list may only get shorter ({})",
                row.file, row.group, row.of, row.reason
            );
        }
    }

    #[track_caller]
    pub(super) fn assert_refused_as_listed(&self) {
        self.assert_known();
        for (place, row) in REFUSED.iter().enumerate() {
            let met = self.refused.get(&place).copied().unwrap_or_default();
            assert_eq!(met, row.count, "{}: {}; the list may only get shorter ({})", row.file, row.says, row.reason);
        }
    }
}
