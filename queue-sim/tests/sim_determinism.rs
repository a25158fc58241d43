//! The program `sim`: it plays the same histories in every process, and its output is tested here.

use std::process::{Command, Output};

use queue_core::QueueKind;

fn sim(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sim"));
    command.args(arguments).output().expect("the program runs")
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

/// Its standard output, for runs that break no rule.
fn passes(arguments: &[&str]) -> String {
    let output = sim(arguments);
    let (out, err) = (said(&output.stdout), said(&output.stderr));
    assert!(output.status.success(), "{arguments:?}: {out}{err}");
    out
}

fn digests(backend: &str, seeds: &str) -> Vec<String> {
    let arguments = [
        "--kind=all",
        "--digest",
        "--backend",
        backend,
        "--seeds",
        seeds,
    ];
    let out = passes(&arguments);
    let digests = out.lines().filter(|line| line.contains(" digest="));
    digests.map(str::to_owned).collect()
}

#[test]
fn two_processes_play_the_same_histories() {
    let once = digests("memory", "40");
    assert_eq!(once.len(), QueueKind::ALL.len(), "{once:?}");
    assert_eq!(once, digests("memory", "40"));
    assert_ne!(once, digests("memory", "39"));
}

#[test]
fn it_does_not_matter_how_many_threads_play() {
    let of = |threads| {
        let usual = [
            "--kind=rotating",
            "--digest",
            "--seeds=41",
            "--threads",
            threads,
        ];
        let out = passes(&usual);
        let (histories, summary) = out.split_once('\n').expect("two lines");
        let counted = summary.split(" runs_per_s").next().unwrap_or_default();
        (histories.to_owned(), counted.to_owned())
    };
    assert_eq!(of("1"), of("3"));
    assert_eq!(of("1"), of("64"));
}

#[cfg(all(unix, feature = "redis"))]
#[test]
fn two_processes_play_the_same_histories_on_servers_of_their_own() {
    let digests = || {
        // This test ignores broken rules.
        let output = sim(&["--kind=all", "--digest", "--backend=redis", "--seeds=10"]);
        let out = said(&output.stdout);
        let digests = out.lines().filter(|line| line.contains(" digest="));
        digests.map(str::to_owned).collect::<Vec<_>>()
    };
    let once = digests();
    assert_eq!(once.len(), QueueKind::ALL.len(), "{once:?}");
    assert_eq!(once, digests());
}

#[test]
fn it_ends_with_one_line() {
    let out = passes(&["--kind", "bounded", "--seeds", "20", "--first-seed=7"]);
    let mut lines = out.lines();
    let line = lines.next().expect("a line");
    assert_eq!(lines.next(), None, "{out}");
    let numbers: Vec<&str> = line.split([' ', '=']).collect();
    let [
        "kind",
        "bounded",
        "backend",
        "memory",
        "seeds",
        "20",
        "violations",
        "0",
        "inconclusive",
        "0",
        "distinct",
        "20",
        "runs_per_s",
        speed,
    ] = numbers[..]
    else {
        panic!("{line}");
    };
    assert!(speed.parse::<u64>().is_ok_and(|speed| speed > 0), "{line}");
}

#[test]
fn a_plan_is_shown_and_judged() {
    // One process pushes once.
    let out = passes(&["--kind=reliable", "--replay", "v1:1.3.verb=2"]);
    assert!(out.contains("every rule holds"), "{out}");
    assert!(out.contains("t(ms)  process 1"), "{out}");
    assert!(out.contains("push b1 -> 1"), "{out}");
    let last = out.lines().last().expect("a line");
    assert!(last.starts_with("kind=reliable backend=memory seeds=1 violations=0 "));
}

#[test]
fn a_plan_of_other_code_does_not_pass() {
    let output = sim(&["--kind=reliable", "--replay", "v1:3.999.verb=3"]);
    assert_eq!(output.status.code(), Some(3));
    let err = said(&output.stderr);
    assert!(
        err.contains("1 of its 1 decisions were never asked for"),
        "{err}"
    );
}

#[test]
fn wrong_arguments_are_named_in_a_sentence() {
    for (arguments, expected) in [
        (&["--seeds", "5"][..], "--kind <KIND>"),
        (&["--kind", "stack"], "invalid value 'stack'"),
        (
            &["--kind", "all", "--url", "redis://h"],
            "unexpected argument '--url'",
        ),
    ] {
        let output = sim(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty());
        let err = said(&output.stderr);
        assert!(err.contains(expected), "{arguments:?}: {err}");
    }
    let help = passes(&["--help"]);
    assert!(
        help.contains("Usage: sim [OPTIONS] --kind <KIND>"),
        "{help}"
    );
}

#[cfg(not(feature = "redis"))]
#[test]
fn a_backend_that_is_not_built_in_is_named_with_its_feature() {
    let output = sim(&["--kind=all", "--backend=redis"]);
    assert_eq!(output.status.code(), Some(2));
    let err = said(&output.stderr);
    assert!(err.contains("build with the feature redis"), "{err}");
}
