//! Bugs in the scripts of the Redis backend. Bugs in the scripts of a single kind are with that kind's
//! other bugs.

mod edit;
mod handing_over;
mod hints;
mod leaks;
mod rules;

pub(crate) use self::{
    edit::{Edit, Edits, edits, with},
    handing_over::*,
    hints::*,
    leaks::*,
    rules::*,
};
