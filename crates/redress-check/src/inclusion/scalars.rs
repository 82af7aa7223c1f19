//! Numbers and texts.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::{
    facet::Facet,
    number::{integer, is_multiple, order},
    proof::{Known, Proof},
    schema_at::SchemaAt,
    value_types::ValueTypes,
};

/// A bound from below or from above, and whether the bound itself is out.
const BOUNDS: [(&str, &str, Ordering); 2] =
    [("minimum", "exclusiveMinimum", Ordering::Greater), ("maximum", "exclusiveMaximum", Ordering::Less)];

impl Proof {
    pub(super) fn numbers(&mut self, known: &Known<'_>, larger: SchemaAt<'_>) {
        let is_integer = known.types.and(ValueTypes::NUMBER).within(ValueTypes::INTEGER);
        for (inclusive, exclusive, inward) in BOUNDS {
            for (keyword, is_exclusive) in [(inclusive, false), (exclusive, true)] {
                let Some(Value::Number(wanted)) = larger.get(keyword) else { continue };
                let holds = |bound: &Number, bound_is_exclusive: bool| {
                    let Some(order) = order(bound, wanted) else { return false };
                    let is_inward = order == inward;
                    let is_equal = order == Ordering::Equal;
                    // For integers, above 4 is from 5 on.
                    let next = is_integer && bound_is_exclusive && !is_exclusive && is_next(bound, wanted, inward);
                    is_inward || next || (is_equal && (bound_is_exclusive || !is_exclusive))
                };
                let numbers = |keyword| known.said(keyword).filter_map(Value::as_number);
                let held = numbers(inclusive).any(|bound| holds(bound, false))
                    || numbers(exclusive).any(|bound| holds(bound, true));
                if !held {
                    let admitted = known.said(inclusive).chain(known.said(exclusive)).next();
                    let admitted = admitted.map(|bound| format!("{inclusive} {bound}")).unwrap_or_default();
                    self.obstacle(Facet::Bound, &admitted, &format!("{keyword} {wanted}"));
                }
            }
        }
        if let Some(Value::Number(wanted)) = larger.get("multipleOf") {
            let mut said = known.said("multipleOf").filter_map(Value::as_number);
            let held = said
                .any(|of| order(of, wanted) == Some(Ordering::Equal) || is_multiple(of, wanted) == Some(true))
                || (is_integer && integer(wanted) == Some(1));
            if !held {
                self.differs(Facet::Multiple, known.said("multipleOf").next(), &Value::Number(wanted.clone()));
            }
        }
    }

    pub(super) fn strings(&mut self, known: &Known<'_>, larger: SchemaAt<'_>) {
        self.count(known, larger, Facet::Length, ("minLength", "maxLength"), 0);
        for (keyword, facet) in [
            ("pattern", Facet::Pattern),
            ("format", Facet::Format),
            ("contentEncoding", Facet::Encoding),
            ("contentMediaType", Facet::Encoding),
            ("contentSchema", Facet::Encoding),
        ] {
            let Some(wanted) = larger.get(keyword) else { continue };
            if !known.said(keyword).any(|said| said == wanted) {
                self.differs(facet, known.said(keyword).next(), wanted);
            }
        }
    }

    /// A least and a most number of letters, items or members. `at_least` are there anyway.
    pub(super) fn count(
        &mut self,
        known: &Known<'_>,
        larger: SchemaAt<'_>,
        facet: Facet,
        (least, most): (&str, &str),
        at_least: usize,
    ) {
        for (keyword, outward) in [(least, Ordering::Less), (most, Ordering::Greater)] {
            let Some(Value::Number(wanted)) = larger.get(keyword) else { continue };
            let fits = |bound: &Number| order(bound, wanted).is_some_and(|order| order != outward);
            let held = known.said(keyword).filter_map(Value::as_number).any(fits)
                || (keyword == least && fits(&Number::from(at_least)));
            if !held {
                let admitted = known.said(keyword).next().map(|bound| format!("{keyword} {bound}")).unwrap_or_default();
                self.obstacle(facet, &admitted, &format!("{keyword} {wanted}"));
            }
        }
    }
}

/// Whether `wanted` is the integer right inward of `bound`.
fn is_next(bound: &Number, wanted: &Number, inward: Ordering) -> bool {
    let step = if inward == Ordering::Greater { 1 } else { -1 };
    matches!((integer(bound), integer(wanted)), (Some(bound), Some(wanted)) if bound + step == wanted)
}
