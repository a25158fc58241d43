//! Published strategies under the simulator: each under each condition, and the rules that it breaks.
//!
//! A strategy declares the rules that it breaks, with condition and reason ([`Guarantees`](queue_core::Guarantees)).
//! Here the simulator looks for a counterexample of each declared rule, and for broken rules that are not declared. The
//! program `strategies` makes a table of it.

mod cell;
mod condition;
mod judge;
mod kept;
mod list;
mod table;
mod trial;

pub use self::{
    cell::{BrokenRule, Cell},
    condition::TrialCondition,
    judge::judge_all,
    list::{Strategy, all},
    table::{StrategyRow, markdown},
};
