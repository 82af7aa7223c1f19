//! The call that helps after a failure, as far as it is known before the failure happens.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use redress_contract::{Binding, Json, Name, NextAction};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::AnyFailure;

/// The next call, as far as it is known before the failure happens.
pub(crate) struct PreparedNextCall {
    operation: Name,
    bind: Vec<BoundMember>,
    why: Option<Arc<str>>,
}

/// One member of the next call's input.
struct BoundMember {
    /// The member as JSON, with the colon behind it.
    member: String,
    /// Where its value comes from.
    from: String,
}

/// The members of an input, as they were written.
#[derive(Deserialize)]
struct InputMembers<'a>(#[serde(borrow)] BTreeMap<Cow<'a, str>, &'a RawValue>);

impl PreparedNextCall {
    pub(crate) fn new(operation: &Name, bind: &[Binding], why: Option<&str>) -> PreparedNextCall {
        let bound = |binding: &Binding| BoundMember {
            member: format!("{}:", serde_json::Value::from(binding.field.as_str())),
            from: binding.from.clone(),
        };
        PreparedNextCall {
            operation: operation.clone(),
            bind: bind.iter().map(bound).collect(),
            why: why.map(Arc::from),
        }
    }

    /// The call that helps with this very occurrence. One that lacks a bound field is no help, and is left out.
    pub(crate) fn after(&self, failure: &dyn AnyFailure) -> Option<NextAction> {
        let mut input = Vec::with_capacity(64);
        for bound in &self.bind {
            bound.open(&mut input);
            if !failure.write_field(&bound.from, &mut input) {
                return None;
            }
        }
        self.action(input)
    }

    /// The call that helps after a call with this `input`, which its schema has accepted. A member that the input
    /// lacks is left out: the registry has made sure that the next operation can do without it.
    pub(crate) fn after_input(&self, input: &[u8]) -> Option<NextAction> {
        let InputMembers(members) = serde_json::from_slice(input).ok()?;
        let mut written = Vec::with_capacity(64);
        for bound in &self.bind {
            if let Some(value) = members.get(bound.from.as_str()) {
                bound.open(&mut written);
                written.extend_from_slice(value.get().as_bytes());
            }
        }
        self.action(written)
    }

    /// The call with this input, which lacks its closing brace.
    fn action(&self, mut input: Vec<u8>) -> Option<NextAction> {
        if input.is_empty() {
            input.push(b'{');
        }
        input.push(b'}');
        let input = Json::from_written(String::from_utf8(input).ok()?);
        Some(NextAction { operation: self.operation.clone(), input, why: self.why.clone() })
    }
}

impl BoundMember {
    /// Writes what stands before the value: a brace or a comma, and the member.
    fn open(&self, input: &mut Vec<u8>) {
        input.push(if input.is_empty() { b'{' } else { b',' });
        input.extend_from_slice(self.member.as_bytes());
    }
}
