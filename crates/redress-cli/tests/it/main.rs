//! The commands of a registry that a program brings along, and the files that are kept.

mod kept;
mod outcomes;
mod table;
