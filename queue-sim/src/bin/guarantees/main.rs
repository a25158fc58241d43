//! Plays published strategies under conditions, and says which rules each breaks.

use std::process::ExitCode;

use queue_sim::strategies::{Condition, all, is_same, play};

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let only = words.next().unwrap_or_default();
    let seeds: u64 = words
        .next()
        .and_then(|word| word.parse().ok())
        .unwrap_or(20);
    let under = words.next();
    for strategy in all() {
        let guarantees = &strategy.guarantees;
        if !guarantees.name.contains(&only) {
            continue;
        }
        println!("== {}", guarantees.name);
        let mut environment = strategy.environment().start().expect("a server");
        for condition in Condition::all() {
            if under
                .as_ref()
                .is_some_and(|under| *under != condition.to_string())
            {
                continue;
            }
            if !condition.concerns(guarantees) {
                continue;
            }
            let cell = play(&strategy, &mut environment, condition, 0..seeds);
            println!(
                "{condition}: {} runs, {} exercised",
                cell.runs, cell.exercised
            );
            for (rule, found) in &cell.found {
                let declared = condition.breaks(guarantees, rule);
                let mark = if declared { " " } else { "!" };
                let message: String = found.message.chars().take(170).collect();
                println!("  {mark} {rule}: {} ({message})", found.runs);
            }
            for weaker in &guarantees.weaker {
                let found = cell.found.keys().any(|rule| is_same(rule, weaker.rule));
                if weaker.when == condition.when() && !found {
                    println!("  ? {} not found", weaker.rule);
                }
            }
        }
    }
    ExitCode::SUCCESS
}
