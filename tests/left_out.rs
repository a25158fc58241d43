//! Tests that hold only where a feature is left out: `scripts/test` runs each, beside all those that it runs
//! with all features.

#[path = "support/tree.rs"]
mod tree;

use std::{collections::BTreeSet, fs, path::Path};

use self::tree::{files, root};

/// A test that exists only with some features, and without others.
#[derive(Debug)]
struct Bound {
    place: String,
    /// Its program; `None` for a test in `src/`.
    program: Option<String>,
    with: BTreeSet<String>,
    without: BTreeSet<String>,
}

/// A line `without "FEATURES" PROGRAMS` of the script.
#[derive(Debug)]
struct Line {
    without: BTreeSet<String>,
    programs: BTreeSet<String>,
}

impl Line {
    fn runs(&self, test: &Bound) -> bool {
        let program = test.program.as_ref();
        program.is_some_and(|program| self.programs.contains(program))
            && test.without.is_subset(&self.without)
            && test.with.is_disjoint(&self.without)
    }
}

fn lines(script: &str) -> Vec<Line> {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
    let of_line = |line: &str| {
        let (without, programs) = line.strip_prefix("without \"")?.split_once('"')?;
        Some(Line {
            without: words(without),
            programs: words(programs),
        })
    };
    script.lines().filter_map(of_line).collect()
}

/// The features in quotes behind this text.
fn features(text: &str, behind: &str) -> BTreeSet<String> {
    let found = text.split(behind).skip(1);
    let quoted = found.filter_map(|rest| rest.split_once('"'));
    quoted.map(|(feature, _)| feature.to_owned()).collect()
}

/// The tests of a file for which a feature is left out: by an attribute, or by a condition in them.
fn bound(place: &str, program: Option<&str>, text: &str) -> Vec<Bound> {
    const FEATURE: &str = "feature = \"";
    let one = |number: usize, condition: &str, asks: &str| {
        let without = features(condition, asks);
        let with = features(condition, FEATURE);
        Bound {
            place: format!("{place}:{}", number + 1),
            program: program.map(str::to_owned),
            with: with.difference(&without).cloned().collect(),
            without,
        }
    };
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut found = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let above_test = lines[number..]
            .iter()
            .take_while(|line| line.starts_with("#["));
        let is_test = above_test.clone().any(|line| line.contains("test]"));
        if line.starts_with("#[cfg(") && line.contains("not(feature") && is_test {
            found.push(one(number, line, "not(feature = \""));
        }
        if program.is_some() && line.contains("cfg!(feature") {
            found.push(one(number, line, "cfg!(feature = \""));
        }
    }
    found
}

/// The tests of all packages. This file is skipped, because it only mentions such tests.
fn of_all() -> Vec<Bound> {
    let root = root();
    let testing = fs::read_dir(root.join("testing")).expect("its folder");
    let packages = fs::read_dir(root).expect("the workspace").chain(testing);
    let packages = packages.map(|entry| entry.expect("an entry").path());
    let packages = packages.filter(|path| path.join("Cargo.toml").exists());
    let mut all = Vec::new();
    for package in packages.chain([root.to_owned()]) {
        for folder in ["src", "tests"] {
            let folder = package.join(folder);
            for path in files(&folder, "rs") {
                let below = path.strip_prefix(&folder).expect("it is in the folder");
                let first = below.iter().next().expect("a name").to_string_lossy();
                let program = first.strip_suffix(".rs").unwrap_or(&first);
                if folder.ends_with("tests") && program == "left_out" {
                    continue;
                }
                let program = folder.ends_with("tests").then_some(program);
                let text = fs::read_to_string(&path).expect("a file of text");
                let place = path.strip_prefix(root).expect("it is in the workspace");
                all.extend(bound(&place.to_string_lossy(), program, &text));
            }
        }
    }
    all
}

#[test]
fn every_test_that_needs_a_feature_left_out_is_run_by_the_script() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/test");
    let lines = lines(&fs::read_to_string(script).expect("the script"));
    let tests = of_all();
    assert!(tests.len() >= 5, "only {tests:?}");
    for test in &tests {
        assert!(
            lines.iter().any(|line| line.runs(test)),
            "{}: no line `without \"FEATURES\" PROGRAMS` of scripts/test runs {test:?}",
            test.place
        );
    }
    for line in &lines {
        for program in &line.programs {
            let of_it = tests
                .iter()
                .filter(|test| test.program.as_ref() == Some(program));
            assert!(
                of_it.clone().any(|test| line.runs(test)),
                "{program} has no test that needs {line:?}"
            );
        }
    }
}

#[test]
fn a_test_that_no_line_runs_is_found() {
    let text = "
        #[cfg(all(feature = \"a\", not(feature = \"b\")))]
        #[tokio::test]
        async fn one() {}

        #[cfg(not(feature = \"b\"))]
        const NO_TEST: u32 = 1;

        #[test]
        fn other() { assert_eq!(cfg!(feature = \"c\"), true); }
    ";
    let tests = bound("file", Some("it"), text);
    let needs = |test: &Bound| {
        (
            test.with.len(),
            test.without.iter().cloned().collect::<String>(),
        )
    };
    let needs: Vec<_> = tests.iter().map(needs).collect();
    assert_eq!(needs, [(1, "b".to_owned()), (0, "c".to_owned())]);
    let runs = |script| {
        tests
            .iter()
            .map(move |test| lines(script).iter().any(|line| line.runs(test)))
    };
    assert!(runs("without \"b\" it\nwithout \"c d\" other it").all(|runs| runs));
    assert!(!runs("without \"b a\" it\nwithout \"b\" others").any(|runs| runs));
}
