//! The environment variables that control a simulation. A variable set to nothing counts as not set.

use std::{
    env,
    time::{SystemTime, UNIX_EPOCH},
};

use crate::plan::Plan;

/// The number of seeds to play: `QUEUE_SIM_SEEDS`, or the usual number if that is not set.
///
/// # Panics
///
/// If it is set to anything but a number.
pub fn seeds_or(usual: u64) -> u64 {
    number("QUEUE_SIM_SEEDS", "a number of seeds, such as 20000").unwrap_or(usual)
}

/// The first of the day's seeds: `QUEUE_SIM_FIRST_SEED`, or a tenth of a million for each day since 1970.
/// No two days meet.
///
/// # Panics
///
/// If it is set to anything but a number.
pub fn first_seed_of_the_day() -> u64 {
    const DAY: u64 = 86_400;
    let today = || {
        let time = SystemTime::now().duration_since(UNIX_EPOCH);
        time.map_or(0, |time| time.as_secs() / DAY * 100_000)
    };
    number("QUEUE_SIM_FIRST_SEED", "a seed, such as 2056000000").unwrap_or_else(today)
}

fn number(name: &str, what: &str) -> Option<u64> {
    let value = variable(name)?;
    let number = value.parse();
    Some(number.unwrap_or_else(|_| panic!("{name}={value:?}: {what}")))
}

/// `QUEUE_SIM_REPLAY`: the plan to play instead of seeds, or the error in it.
pub(super) fn replay() -> Option<Result<Plan, String>> {
    let line = variable("QUEUE_SIM_REPLAY")?;
    let plan = line.parse();
    Some(plan.map_err(|error| format!("QUEUE_SIM_REPLAY={line:?}: {error}")))
}

/// `QUEUE_SIM_KEPT`: the reaction to kept plans that do not fit.
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
