//! Bugs in the scripts of the Redis backend. Those in the scripts of one kind alone are with the kind's
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
