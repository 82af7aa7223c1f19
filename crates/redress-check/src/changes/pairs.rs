//! What is compared with what.

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
};

use redress_contract::{FailureDeclaration, OperationDeclaration, Schema};

use super::Witness;
use crate::{
    Lock,
    inclusion::{
        Judge, MemberPair, Obstacle, PlaceStep, Proof, SchemaAt, SchemaDocument, members, pointer, references,
    },
};

/// Two contracts.
pub(crate) struct LockPair<'l> {
    pub(crate) before: &'l Lock,
    pub(crate) after: &'l Lock,
    /// The operations that are in both, under the same name or by an alias.
    pub(crate) operations: Vec<OperationPair<'l>>,
    pub(crate) added: Vec<&'l OperationDeclaration>,
    pub(crate) removed: Vec<&'l OperationDeclaration>,
    /// Schemas that are shared under one name and are not the same, or refer to such.
    changed: BTreeSet<&'l str>,
}

/// One operation, before and after.
#[derive(Clone, Copy)]
pub(crate) struct OperationPair<'l> {
    pub(crate) before: &'l OperationDeclaration,
    pub(crate) after: &'l OperationDeclaration,
}

/// One failure of an operation, before and after.
#[derive(Clone, Copy)]
pub(crate) struct FailurePair<'l> {
    pub(crate) operation: OperationPair<'l>,
    pub(crate) before: &'l FailureDeclaration,
    pub(crate) after: &'l FailureDeclaration,
}

/// Which way values go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// From callers: what was taken has to be taken.
    Taken,
    /// To callers: what is given has to be what was given.
    Given,
}

/// One schema, before and after.
pub(crate) struct SchemaDocuments<'l> {
    address: String,
    flow: Flow,
    before: SchemaDocument<'l>,
    after: SchemaDocument<'l>,
}

/// One schema, before and after, with everything in which they differ.
pub(crate) struct SchemaPair<'d> {
    address: &'d str,
    pub(crate) flow: Flow,
    documents: &'d SchemaDocuments<'d>,
    /// Where values are admitted before and not after.
    pub(crate) narrowed: Vec<Obstacle>,
    /// Where values are admitted after and not before.
    pub(crate) widened: Vec<Obstacle>,
    pub(crate) members: Vec<MemberPair<'d>>,
    judge: OnceCell<Option<Judge<'d>>>,
}

impl<'l> LockPair<'l> {
    pub(crate) fn new(before: &'l Lock, after: &'l Lock) -> LockPair<'l> {
        let external = |lock: &'l Lock| -> BTreeMap<&'l str, &'l OperationDeclaration> {
            lock.operations.values().map(|operation| (operation.name().as_str(), operation)).collect()
        };
        let (known, mut left) = (external(before), external(after));
        let mut pair = LockPair {
            before,
            after,
            operations: Vec::new(),
            added: Vec::new(),
            removed: Vec::new(),
            changed: changed(before, after),
        };
        for (name, before) in known {
            let by_alias = || after.operations.values().find(|one| one.aliases().iter().any(|alias| *alias == *name));
            let found = left.remove(name).or_else(by_alias);
            match found {
                Some(after) if before.is_external() || after.is_external() => {
                    left.remove(after.name().as_str());
                    pair.operations.push(OperationPair { before, after });
                }
                None if before.is_external() => pair.removed.push(before),
                Some(_) | None => {}
            }
        }
        pair.added = left.into_values().filter(|operation| operation.is_external()).collect();
        pair
    }

    /// Whether all schemas that operations share are the same.
    pub(crate) fn shares_all(&self) -> bool {
        self.changed.is_empty()
    }

    fn is_unchanged(&self, before: &Schema, after: &Schema) -> bool {
        let is_kept = |reference: &str| {
            let name = reference.strip_prefix("#/$defs/").unwrap_or(reference);
            before.referred(reference).is_some() || !self.changed.contains(name)
        };
        before == after && references(before.as_value()).into_iter().all(is_kept)
    }
}

/// The shared schemas that differ, and all that refer to one of them.
fn changed<'l>(before: &'l Lock, after: &'l Lock) -> BTreeSet<&'l str> {
    let names = before.schemas.keys().chain(after.schemas.keys());
    let differs = |name: &&String| before.schemas.get(*name) != after.schemas.get(*name);
    let mut changed: BTreeSet<&str> = names.filter(differs).map(String::as_str).collect();
    if changed.is_empty() {
        return changed;
    }
    let mut users: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, schema) in before.schemas.iter().chain(&after.schemas) {
        for used in references(schema).into_iter().filter_map(|reference| reference.strip_prefix("#/$defs/")) {
            users.entry(used).or_default().push(name);
        }
    }
    let mut left: Vec<&str> = changed.iter().copied().collect();
    while let Some(name) = left.pop() {
        for user in users.get(name).into_iter().flatten().copied() {
            if changed.insert(user) {
                left.push(user);
            }
        }
    }
    changed
}

impl<'l> OperationPair<'l> {
    /// The name by which callers know it.
    pub(crate) fn name(&self) -> &'l str {
        self.before.name().as_str()
    }

    /// The failures that it has before and after.
    pub(crate) fn failures(&self) -> impl Iterator<Item = FailurePair<'l>> {
        let operation = *self;
        self.before.failures().iter().filter_map(move |before| {
            let after = operation.after.failure(before.code().as_str())?;
            Some(FailurePair { operation, before, after })
        })
    }

    /// The schemas that are not the same.
    pub(crate) fn schemas(&self, locks: &LockPair<'l>) -> Vec<SchemaDocuments<'l>> {
        let name = self.name();
        let mut all = vec![
            (format!("{name}/input"), Flow::Taken, self.before.input(), self.after.input()),
            (format!("{name}/output"), Flow::Given, self.before.output(), self.after.output()),
        ];
        all.extend(self.failures().map(|failure| {
            let address = format!("{}/details", failure.address());
            (address, Flow::Given, failure.before.details(), failure.after.details())
        }));
        all.into_iter()
            .filter(|(_, _, before, after)| !locks.is_unchanged(before, after))
            .map(|(address, flow, before, after)| SchemaDocuments {
                address,
                flow,
                before: SchemaDocument { schema: before, shared: &locks.before.schemas },
                after: SchemaDocument { schema: after, shared: &locks.after.schemas },
            })
            .collect()
    }
}

impl FailurePair<'_> {
    /// `orders.refund/ORDER_MISSING`.
    pub(crate) fn address(&self) -> String {
        format!("{}/{}", self.operation.name(), self.before.code())
    }
}

impl<'d> SchemaPair<'d> {
    /// Compares two schemas.
    pub(crate) fn compared(documents: &'d SchemaDocuments<'d>) -> SchemaPair<'d> {
        let (before, after) = (SchemaAt::root(&documents.before), SchemaAt::root(&documents.after));
        // Only what callers read is read tolerantly, and it is the earlier schema that they go by.
        let tolerant = documents.flow == Flow::Given;
        SchemaPair {
            address: &documents.address,
            flow: documents.flow,
            documents,
            narrowed: Proof::obstacles(before, after, false),
            widened: Proof::obstacles(after, before, tolerant),
            members: members(before, after),
            judge: OnceCell::new(),
        }
    }

    /// A place in it: `orders.refund/input/lines/*/amount`.
    pub(crate) fn place(&self, place: &[PlaceStep]) -> String {
        format!("{}{}", self.address, pointer(place))
    }

    /// The differences that break callers.
    pub(crate) fn breaking(&self) -> &[Obstacle] {
        match self.flow {
            Flow::Taken => &self.narrowed,
            Flow::Given => &self.widened,
        }
    }

    /// A value that shows that an obstacle breaks callers.
    pub(crate) fn witness(&self, obstacle: &Obstacle) -> Option<Witness> {
        let judge = self.judge.get_or_init(|| {
            let (before, after) = (&self.documents.before, &self.documents.after);
            match self.flow {
                Flow::Taken => Judge::new(before, after, false),
                Flow::Given => Judge::new(after, before, true),
            }
        });
        let value = judge.as_ref()?.witness(obstacle)?;
        let admitted_before = self.flow == Flow::Taken;
        Some(Witness { value, admitted_before, admitted_after: !admitted_before })
    }
}
