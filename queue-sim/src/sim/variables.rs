//! The variables in the process's environment that control a simulation. One set to nothing counts
//! as not set.

use std::env;

use crate::plan::Plan;

/// `QUEUE_SIM_SEEDS`: the number of seeds to play.
///
/// # Panics
///
/// If it is not a number.
pub(super) fn seeds() -> Option<u64> {
    let seeds = variable("QUEUE_SIM_SEEDS")?;
    Some(parse_seeds(&seeds).unwrap_or_else(|error| panic!("{error}")))
}

fn parse_seeds(seeds: &str) -> Result<u64, String> {
    seeds
        .parse()
        .map_err(|_| format!("QUEUE_SIM_SEEDS={seeds:?}: a number of seeds, such as 20000"))
}

/// `QUEUE_SIM_REPLAY`: the plan to play instead of seeds, or the error in it.
pub(super) fn replay() -> Option<Result<Plan, String>> {
    Some(parse_replay(&variable("QUEUE_SIM_REPLAY")?))
}

fn parse_replay(line: &str) -> Result<Plan, String> {
    line.parse()
        .map_err(|error| format!("QUEUE_SIM_REPLAY={line:?}: {error}"))
}

/// `QUEUE_SIM_KEPT`: the answer to kept plans that do not fit.
pub(super) fn kept() -> Option<String> {
    variable("QUEUE_SIM_KEPT")
}

/// `QUEUE_SIM_VERBOSE`: whether to print more.
pub(super) fn is_verbose() -> bool {
    variable("QUEUE_SIM_VERBOSE").is_some_and(|value| value != "0")
}

/// A value that is not Unicode is no number or plan either, so its parser reports it.
fn variable(name: &str) -> Option<String> {
    let value = env::var_os(name)?.to_string_lossy().into_owned();
    (!value.is_empty()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_quoted() {
        let seeds = parse_seeds("many").expect_err("no number");
        assert!(seeds.starts_with("QUEUE_SIM_SEEDS=\"many\": "), "{seeds}");
        let plan = parse_replay("v1:1.0.dance=1").expect_err("no plan");
        let quoted = "QUEUE_SIM_REPLAY=\"v1:1.0.dance=1\": ";
        assert!(plan.starts_with(quoted), "{plan}");
    }
}
