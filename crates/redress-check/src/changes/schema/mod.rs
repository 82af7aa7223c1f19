//! Schemas: in which respect one admits what the other does not. One comparer, and two rules for each respect.

mod facets;

use super::{ChangesOf, Compatibility, Flow, SchemaPair};
use crate::inclusion::{Facet, Obstacle};

pub(super) use facets::RULES;

/// Whether less is admitted than before, or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shift {
    /// Less.
    Narrowed,
    /// More.
    Widened,
}

/// Notes where `schemas` differ in this respect.
pub(super) fn compare(facet: Facet, way: Shift, schemas: &SchemaPair<'_>, changes: &mut ChangesOf) {
    let (obstacles, is_breaking) = match (way, schemas.flow) {
        (Shift::Narrowed, Flow::Taken) => (&schemas.narrowed, true),
        (Shift::Narrowed, Flow::Given) => (&schemas.narrowed, false),
        (Shift::Widened, Flow::Taken) => (&schemas.widened, false),
        (Shift::Widened, Flow::Given) => (&schemas.widened, true),
    };
    for obstacle in obstacles.iter().filter(|one| one.facet == facet && !is_told_by_name(one, schemas)) {
        let address = schemas.place(&obstacle.place);
        let says = says(obstacle, way);
        if !is_breaking {
            changes.push(Compatibility::Compatible, address, says, "nothing has to be done");
            continue;
        }
        let witness = schemas.witness(obstacle);
        let (compatibility, help) = match (&witness, schemas.flow) {
            (Some(_), Flow::Taken) => {
                (Compatibility::Breaking, "keep taking what was taken, or give the new input a new name")
            }
            (Some(_), Flow::Given) => {
                (Compatibility::Breaking, "keep to what was given, or give the new values in a new member")
            }
            (None, _) => (
                Compatibility::Undecided,
                "no value was found that shows it; look at the two, and accept it with a reason",
            ),
        };
        changes.push_shown(compatibility, address, says, help, witness);
    }
}

/// Whether a rule about members names the same difference: one that is gone, or new and optional.
fn is_told_by_name(obstacle: &Obstacle, schemas: &SchemaPair<'_>) -> bool {
    let is_of_member = matches!(obstacle.facet, Facet::Required | Facet::Additional);
    is_of_member
        && schemas.members.iter().any(|member| {
            let is_gone = member.after.is_empty();
            let is_new = member.before.is_empty() && obstacle.facet == Facet::Additional;
            (is_gone || is_new) && member.place == obstacle.place
        })
}

fn says(obstacle: &Obstacle, way: Shift) -> String {
    // An obstacle tells what the smaller schema admits and what the larger one wants.
    let (before, after) = match way {
        Shift::Narrowed => (&obstacle.admitted, &obstacle.wanted),
        Shift::Widened => (&obstacle.wanted, &obstacle.admitted),
    };
    let told = |text: &String| if text.is_empty() { "nothing".to_owned() } else { text.clone() };
    let is_by_keyword =
        matches!(obstacle.facet, Facet::Alternatives | Facet::Exclusion | Facet::Condition | Facet::Unevaluated);
    match way {
        Shift::Narrowed | Shift::Widened if obstacle.facet == Facet::Unclear => {
            format!("it cannot be compared: {}", obstacle.wanted)
        }
        Shift::Narrowed if is_by_keyword => format!("`{}` admits less than before", obstacle.wanted),
        Shift::Widened if is_by_keyword => format!("it admits what the `{}` of before does not", obstacle.wanted),
        Shift::Narrowed | Shift::Widened => format!("it was {}, and is {}", told(before), told(after)),
    }
}
