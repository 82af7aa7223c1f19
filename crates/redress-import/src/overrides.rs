//! What an operator says otherwise than the document.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use redress_contract::{
    Access, Effect, FailureDeclaration, Kind, Name, OperationDeclaration, Recovery, Shape, Streaming, Verification,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{FailsWhen, Import, ImportedOperation, NextCall, NextCallOrigin, OverrideError, openapi::next_calls};

/// What an operator says otherwise than the document, for the operations that a pattern finds. They are applied in their
/// order, a later one to what an earlier one has left.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Override {
    /// Which operations: a name (`issues.update`), an id of the document or a method and a path (`GET /issues/{id}`), with
    /// `*` for anything.
    pub operation: String,
    /// Only what some override includes is left.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub include: bool,
    /// They are left out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub exclude: bool,
    /// The one operation that is found is called so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rename: Option<String>,
    /// Put before the names, as a segment of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// What it does, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What it does, at length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it reads, changes or streams, where the method does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<Shape>,
    /// Members of the input that always have this value; callers do not see them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub fixed: BTreeMap<String, Value>,
    /// Members of the input that callers do not see, and that are not sent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<String>,
    /// What the caller can do about a failure, by its code.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub recovery: BTreeMap<String, Recovery>,
    /// Operations that are not to be next calls, though the document suggests them; `*` for none at all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refuse_next: Vec<String>,
    /// How a caller finds out whether it took place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify: Option<Verification>,
    /// Who may call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<Access>,
    /// How long one call may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// How many bytes of output it may give at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output: Option<usize>,
    /// Successes that are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fails_when: Vec<FailsWhen>,
    /// Profiles that they belong to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<String>,
}

impl Override {
    /// Applies overrides to an import, in their order.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with any of them. The import is unchanged then.
    pub fn apply(overrides: &[Override], import: &mut Import) -> Result<(), Vec<OverrideError>> {
        if overrides.is_empty() {
            return Ok(());
        }
        let mut changed = import.operations.clone();
        let mut errors = Vec::new();
        included(overrides, &mut changed, &mut errors);
        for one in overrides {
            one.to_names(&mut changed, &mut errors);
        }
        names_differ(&changed, &mut errors);
        for one in overrides {
            one.to_calls(&mut changed, &mut errors);
        }
        next_calls::apply(&mut changed);
        for one in overrides {
            one.to_failures(&mut changed, &mut errors);
        }
        if errors.is_empty() {
            import.operations = changed;
            return Ok(());
        }
        Err(errors)
    }

    fn finds(&self, operation: &ImportedOperation) -> bool {
        let asked = format!("{} {}", operation.request.method, operation.request.path);
        let names =
            [Some(operation.operation.name().as_str()), operation.operation_id.as_deref(), Some(asked.as_str())];
        // What an earlier override has renamed is still found by the name that it had.
        let aliases = operation.operation.aliases().iter().map(Name::as_str);
        names.into_iter().flatten().chain(aliases).any(|name| matches(&self.operation, name))
    }

    fn nothing_found(&self, operations: &[ImportedOperation]) -> OverrideError {
        let names = operations.iter().map(|operation| operation.operation.name().as_str());
        OverrideError::NothingFound { pattern: self.operation.clone(), nearest: nearest(&self.operation, names) }
    }

    /// Names, words and what is taken.
    fn to_names(&self, operations: &mut [ImportedOperation], errors: &mut Vec<OverrideError>) {
        if self.exclude {
            return;
        }
        let found: Vec<usize> = (0..operations.len()).filter(|place| self.finds(&operations[*place])).collect();
        if found.is_empty() {
            return errors.push(self.nothing_found(operations));
        }
        if let (Some(rename), 2..) = (&self.rename, found.len()) {
            let (pattern, rename) = (self.operation.clone(), rename.clone());
            errors.push(OverrideError::RenamesMany { pattern, found: found.len(), rename });
            return;
        }
        let mut renamed: BTreeMap<Name, Name> = BTreeMap::new();
        for place in found {
            let operation = &mut operations[place];
            let before = operation.operation.name().clone();
            self.to_one(operation, errors);
            let wanted = self.rename.clone().unwrap_or_else(|| before.to_string());
            let wanted = self.prefix.as_ref().map_or(wanted.clone(), |prefix| format!("{prefix}.{wanted}"));
            match Name::new(&wanted) {
                Ok(name) if name != before => {
                    operation.operation = said_otherwise(&operation.operation, "name", name.as_str());
                    renamed.insert(before, name);
                }
                Ok(_) => {}
                Err(_) => errors.push(OverrideError::BadName { name: wanted }),
            }
        }
        for call in operations.iter_mut().flat_map(|operation| &mut operation.next_calls) {
            if let Some(name) = renamed.get(&call.operation) {
                call.operation = name.clone();
            }
        }
    }

    fn to_one(&self, imported: &mut ImportedOperation, errors: &mut Vec<OverrideError>) {
        imported.overridden = true;
        let mut operation = imported.operation.clone();
        if let Some(text) = &self.summary {
            operation = operation.with_summary(text);
        }
        if let Some(text) = &self.description {
            operation = operation.with_description(text);
        }
        if let Some(access) = &self.access {
            operation = operation.with_access(access.clone());
        }
        if let Some(deadline) = self.deadline_ms {
            operation = operation.with_deadline(Duration::from_millis(deadline));
        }
        if let Some(bytes) = self.max_output {
            operation = operation.with_max_output(bytes);
        }
        if let Some(shape) = self.shape {
            operation = shaped(&operation, shape);
        }
        imported.operation = operation;
        for profile in &self.profiles {
            if !imported.profiles.contains(profile) {
                imported.profiles.push(profile.clone());
            }
        }
        for (field, value) in &self.fixed {
            take_away(imported, field, Some(value.clone()), errors);
        }
        for field in &self.hidden {
            take_away(imported, field, None, errors);
        }
    }

    /// Next calls, refused or given.
    fn to_calls(&self, operations: &mut [ImportedOperation], errors: &mut Vec<OverrideError>) {
        for refused in &self.refuse_next {
            let mut any = refused == "*";
            for operation in operations.iter_mut().filter(|operation| self.finds(operation)) {
                for call in operation.next_calls.iter_mut().filter(|call| matches(refused, call.operation.as_str())) {
                    call.refused = true;
                    any = true;
                }
            }
            if !any {
                let (pattern, refused) = (self.operation.clone(), refused.clone());
                errors.push(OverrideError::NoNextCall { pattern, refused });
            }
        }
        let Some(verification) = &self.verify else { return };
        for operation in operations.iter_mut().filter(|operation| self.finds(operation)) {
            let uncertain = operation.operation.failures().iter().filter(|failure| failure.effect() != Effect::None);
            let call = NextCall {
                codes: uncertain.map(|failure| failure.code().clone()).collect(),
                operation: verification.target().clone(),
                bind: verification.bindings().to_vec(),
                why: verification.reason().unwrap_or("see whether it took place").to_owned(),
                origin: NextCallOrigin::Override,
                verifies: true,
                done: Some(verification.done().clone()),
                refused: false,
            };
            operation.next_calls.retain(|call| !call.verifies);
            operation.next_calls.insert(0, call);
        }
    }

    /// Failures: recoveries of the operator's own, and successes that are none.
    fn to_failures(&self, operations: &mut [ImportedOperation], errors: &mut Vec<OverrideError>) {
        let mut unused: BTreeSet<&String> = self.recovery.keys().collect();
        let mut codes: BTreeSet<String> = BTreeSet::new();
        for imported in operations.iter_mut().filter(|operation| self.finds(operation)) {
            for when in &self.fails_when {
                imported.fails_when.push(when.clone());
                if imported.operation.failure(when.code.as_str()).is_none() {
                    imported.operation = imported.operation.clone().fails(said_no(when, imported.operation.shape()));
                }
            }
            let failures: Vec<FailureDeclaration> = imported.operation.failures().to_vec();
            codes.extend(failures.iter().map(|failure| failure.code().to_string()));
            let failures = failures.into_iter().map(|failure| match self.recovery.get(failure.code().as_str()) {
                Some(recovery) => {
                    unused.retain(|code| **code != *failure.code().as_str());
                    failure.with_recovery(recovery.clone())
                }
                None => failure,
            });
            imported.operation =
                imported.operation.clone().without_failures().with_failures(failures.collect::<Vec<_>>());
        }
        for code in unused {
            let nearest = nearest(code, codes.iter().map(String::as_str));
            errors.push(OverrideError::NoFailure { pattern: self.operation.clone(), code: code.clone(), nearest });
        }
    }
}

/// The same declaration with one member said otherwise. What a declaration is made with cannot be changed in it, so it is
/// written and read.
fn said_otherwise(operation: &OperationDeclaration, member: &str, value: impl Into<Value>) -> OperationDeclaration {
    let written = serde_json::to_value(operation).map(|mut written| {
        written[member] = value.into();
        written
    });
    written.and_then(serde_json::from_value).unwrap_or_else(|_| operation.clone())
}

/// The same declaration with another shape.
fn shaped(operation: &OperationDeclaration, shape: Shape) -> OperationDeclaration {
    let streams = shape == Shape::Subscription;
    let operation = said_otherwise(operation, "shape", json!(shape));
    if streams {
        operation.with_streaming(Streaming::default())
    } else {
        said_otherwise(&operation, "streaming", Value::Null)
    }
}

/// A failure that HTTP calls a success.
fn said_no(when: &FailsWhen, shape: Shape) -> FailureDeclaration {
    let effect = if shape == Shape::Mutation { Effect::Unknown } else { Effect::None };
    let details = json!({
        "type": "object",
        "properties": {"status": {"type": "integer"}, "reason": {"type": "string"}, "body": {}},
        "required": ["status", "reason"],
        "additionalProperties": false,
    });
    let hint = "Read in `details.body` why the service did not do it, and change the input if that helps.";
    FailureDeclaration::new(when.code.as_str(), Kind::Validation)
        .with_when("The service answered with a success of HTTP, and said in the body that it is none.")
        .with_message("the service answered {status}, and said that it is none ({reason})")
        .with_http(502)
        .with_effect(effect)
        .with_details(details)
        .with_recovery(Recovery::fix_input("", hint))
}

/// Leaves only what is included and not excluded.
fn included(overrides: &[Override], operations: &mut Vec<ImportedOperation>, errors: &mut Vec<OverrideError>) {
    for one in overrides.iter().filter(|one| one.exclude || one.include) {
        if !operations.iter().any(|operation| one.finds(operation)) {
            errors.push(one.nothing_found(operations));
        }
    }
    if overrides.iter().any(|one| one.include) {
        operations.retain(|operation| overrides.iter().any(|one| one.include && one.finds(operation)));
    }
    operations.retain(|operation| !overrides.iter().any(|one| one.exclude && one.finds(operation)));
}

fn names_differ(operations: &[ImportedOperation], errors: &mut Vec<OverrideError>) {
    let mut seen = BTreeSet::new();
    for operation in operations {
        if !seen.insert(operation.operation.tool_name()) {
            errors.push(OverrideError::SameName { name: operation.operation.name().to_string() });
        }
    }
}

/// Takes a member out of the input: it has a value, or is not sent.
fn take_away(imported: &mut ImportedOperation, name: &str, value: Option<Value>, errors: &mut Vec<OverrideError>) {
    let operation = imported.operation.name().to_string();
    let Some(place) = imported.request.fields.iter().position(|field| field.field == name || field.name == name) else {
        let nearest = nearest(name, imported.request.fields.iter().map(|field| field.field.as_str()));
        return errors.push(OverrideError::NoField { operation, field: name.to_owned(), nearest });
    };
    if value.is_none() && imported.request.fields[place].required {
        return errors.push(OverrideError::HiddenRequired { operation, field: name.to_owned() });
    }
    let mut field = imported.request.fields.remove(place);
    let mut input = imported.operation.input().clone().into_value();
    if let Some(members) = input.get_mut("properties").and_then(Value::as_object_mut) {
        members.remove(&field.field);
    }
    if let Some(names) = input.get_mut("required").and_then(Value::as_array_mut) {
        names.retain(|known| *known != *field.field);
    }
    imported.operation = imported.operation.clone().with_input(input);
    imported.request.narrowing.retain(|known| *known != field.field);
    // A call that needs it can no longer be made from what the caller gave.
    let gone = field.field.clone();
    imported.next_calls.retain(|call| !call.bind.iter().any(|bind| bind.from == gone));
    if value.is_some() {
        field.fixed = value;
        imported.request.fixed.push(field);
    }
}

/// Whether a text is what a pattern says, in which `*` stands for anything.
fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut place) = (0, 0);
    // Where the last star was, and how much of the text it stands for so far.
    let mut star: Option<(usize, usize)> = None;
    while place < text.len() {
        match (pattern.get(at), star) {
            (Some('*'), _) => {
                star = Some((at, place));
                at += 1;
            }
            (Some(letter), _) if Some(letter) == text.get(place) => {
                at += 1;
                place += 1;
            }
            (_, Some((before, taken))) => {
                star = Some((before, taken + 1));
                at = before + 1;
                place = taken + 1;
            }
            (_, None) => return false,
        }
    }
    pattern.iter().skip(at).all(|letter| *letter == '*')
}

/// The name that is nearest to what was written.
fn nearest<'a>(written: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let plain: String = written.chars().filter(|letter| *letter != '*').take(80).collect();
    let scored = names.map(|name| (strsim::jaro_winkler(&plain, name), name));
    let best = scored.max_by(|(one, _), (other, _)| one.total_cmp(other));
    best.filter(|(score, _)| *score > 0.6).map(|(_, name)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, text, yes) in [
            ("issues.*", "issues.update", true),
            ("*.update", "issues.update", true),
            ("*", "", true),
            ("a*b*c", "a--b-b--c", true),
            ("a*b*c", "a--b-b--", false),
            ("issues", "issues.update", false),
            ("GET /things/*", "GET /things/{id}", true),
        ] {
            assert_eq!(matches(pattern, text), yes, "{pattern} {text}");
        }
    }
}
