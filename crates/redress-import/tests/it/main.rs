//! What documents become, from the outside.

mod documents;
mod exported;
mod hostile;
mod listed;
mod next_calls;
mod overlays;
mod overrides;
mod reading;
mod real;
mod schemas;
mod swagger;
