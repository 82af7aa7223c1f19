//! Whether all that one schema admits is admitted by another: proved, shown to be wrong by a value, or neither.

mod accepts;
mod arrays;
mod choices;
mod facet;
mod number;
mod objects;
mod proof;
mod reading;
mod sample;
mod scalars;
mod schema_at;
mod text;
mod value_types;
mod walk;
mod witness;

#[cfg(test)]
mod random_pairs;

pub(crate) use facet::{Facet, Obstacle, PlaceStep, pointer};
pub(crate) use proof::Proof;
pub(crate) use schema_at::{SchemaAt, SchemaDocument, references};
pub(crate) use walk::{MemberPair, members};
pub(crate) use witness::Judge;
