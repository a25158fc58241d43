//! Bugs in the scripts of the Redis backend.

#[macro_use]
mod edit;
mod hints;
mod leaks;
mod rules;

pub(crate) use self::{
    edit::{Edit, Edits, with},
    hints::*,
    leaks::*,
    rules::*,
};
