//! What is shown: everything goes through one `Terminal`.

pub(crate) mod face_address;
mod indent;
pub(crate) mod outcome_view;
pub(crate) mod output;
pub(crate) mod screen;
pub(crate) mod shell;
