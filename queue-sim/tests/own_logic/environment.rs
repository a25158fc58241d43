//! The variables that control a simulation: each test plays one in its own process.

use std::{env, process::Output};

use crate::{child, jobs::harmless};

const CHILD: &str = "QUEUE_SIM_TEST_ASKED";

/// The simulation that the other tests start. When run directly, it does nothing.
#[test]
fn of_a_child() {
    if env::var_os(CHILD).is_some() {
        println!("{}", harmless("asked").seeds(100).try_run().unwrap());
    }
}

fn asked(variable: &str, value: &str) -> (Output, String) {
    let mut child = child("environment::of_a_child");
    let output = child.env(CHILD, "1").env(variable, value).output();
    let output = output.expect("it runs");
    let said = [&*output.stdout, &*output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    (output, said)
}

#[test]
fn a_variable_that_is_set_to_nothing_is_not_set() {
    for variable in ["QUEUE_SIM_SEEDS", "QUEUE_SIM_REPLAY"] {
        let (output, said) = asked(variable, "");
        assert!(output.status.success(), "{said}");
        assert!(said.contains("asked: runs=100 "), "{said}");
    }
    let (_, said) = asked("QUEUE_SIM_SEEDS", "120");
    assert!(said.contains("asked: runs=120 "), "{said}");
    let (_, said) = asked("QUEUE_SIM_REPLAY", "v1:");
    assert!(said.contains("asked: runs=1 "), "{said}");
}

#[test]
fn no_seed_at_all_shows_nothing() {
    let (output, said) = asked("QUEUE_SIM_SEEDS", "0");
    assert!(!output.status.success(), "{said}");
    assert!(said.contains("no run was played"), "{said}");
}

#[test]
fn nonsense_is_named_and_quoted() {
    for (variable, value) in [
        ("QUEUE_SIM_SEEDS", "many"),
        ("QUEUE_SIM_REPLAY", "v1:1.0.dance=1"),
    ] {
        let (output, said) = asked(variable, value);
        assert!(!output.status.success(), "{said}");
        assert!(said.contains(variable) && said.contains(value), "{said}");
    }
}
