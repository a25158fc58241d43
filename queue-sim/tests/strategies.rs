//! Published strategies break the rules that they declare, and no others: the kept counterexamples
//! still show the first, and runs of fresh seeds the second. The program `guarantees` plays more, also
//! the stream, whose runs are not repeatable.

use std::{sync::Mutex, thread};

use queue_sim::strategies::{Condition, Kept, Strategy, all, play};

/// Runs of each strategy under each condition.
const SEEDS: u64 = 20;
/// As many as a small machine has cores.
const THREADS: usize = 2;

fn seeds() -> u64 {
    let set = std::env::var("QUEUE_SIM_SEEDS").ok();
    set.map_or(SEEDS, |set| set.parse().expect("a number of seeds"))
}

#[test]
fn each_breaks_what_it_declares_and_nothing_else() {
    let recipes = all().into_iter().filter(|strategy| {
        // The default ones have tests of their own.
        !strategy.is_default() && strategy.is_repeatable()
    });
    let left = Mutex::new(recipes.collect::<Vec<_>>());
    let faults = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let next = left.lock().expect("no panic holds it").pop();
                    let Some(strategy) = next else {
                        return;
                    };
                    let found = check(&strategy);
                    faults.lock().expect("no panic holds it").extend(found);
                }
            });
        }
    });
    let faults = faults.into_inner().expect("no panic holds it");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn check(strategy: &Strategy) -> Vec<String> {
    let name = strategy.guarantees.name;
    let mut faults = Vec::new();
    for condition in Condition::all().filter(|condition| strategy.plays(*condition)) {
        let place = format!("{name}, {condition}");
        let mut environment = strategy.environment(condition).expect("a server");
        let cell = play(strategy, &mut *environment, condition, 0..seeds());
        let undeclared = cell.undeclared(strategy, &mut *environment, condition);
        faults.extend(undeclared.iter().map(|rule| format!("{place}: {rule}")));
        for kept in Kept::all(strategy, condition) {
            if let Err(error) = kept.replay(&mut *environment) {
                faults.push(format!("{place}: {} {error}", kept.weaker().rule));
            }
        }
    }
    faults
}
