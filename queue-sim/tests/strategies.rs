//! Published strategies break the rules that they declare, and no others: the kept counterexamples
//! still show the first, and runs of fresh seeds the second. The program `guarantees` plays more, also
//! the stream, whose runs are not repeatable.

use queue_sim::{
    sim::seeds_or,
    strategies::{all, judge_all},
};

/// Runs of each strategy under each condition.
const SEEDS: u64 = 20;
/// As many as a small machine has cores.
const THREADS: usize = 2;

#[test]
fn each_breaks_what_it_declares_and_nothing_else() {
    let mut recipes = all();
    // The default ones have tests of their own.
    recipes.retain(|strategy| !strategy.is_default() && strategy.is_repeatable());
    let told = |report: &str| print!("{report}");
    let (_, faults) = judge_all(recipes, THREADS, seeds_or(SEEDS), false, told);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
