//! The public interface of each published crate is the one in the texts beside this file, so a change of it is
//! reviewed as a change of these texts. `scripts/interface` makes rustdoc's JSON and runs this test;
//! `scripts/interface --write` writes the texts again.

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
};

/// The items of a crate, one a line and in order, from rustdoc's JSON. Implementations of traits that hold for every
/// type, or that the compiler adds, are left out.
fn items(json: &Path) -> Vec<String> {
    let api = public_api::Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build();
    let api = api.unwrap_or_else(|error| panic!("{}: {error}", json.display()));
    api.items().map(ToString::to_string).collect()
}

/// A crate's name in code.
fn code_name(package: &str) -> String {
    package.replace('-', "_")
}

#[test]
#[ignore = "it reads rustdoc's JSON: scripts/interface"]
fn the_interface_of_each_crate_is_the_reviewed_one() {
    let variable =
        |name: &str| env::var(name).unwrap_or_else(|_| panic!("scripts/interface sets {name}"));
    let folder = PathBuf::from(variable("INTERFACE_JSON"));
    let write = env::var("EXPECTED").is_ok_and(|value| value == "write");
    let texts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interface");
    let packages = variable("INTERFACE_PACKAGES");
    let packages: Vec<&str> = packages.split_whitespace().collect();
    assert!(packages.len() > 5, "only {packages:?}");

    let mut differ = Vec::new();
    let mut elsewhere = BTreeSet::new();
    // queue-kit passes on items of the others, and comes last.
    let (facades, others): (Vec<&str>, Vec<&str>) = packages
        .iter()
        .partition(|package| **package == "queue-kit");
    for package in others.into_iter().chain(facades) {
        let own = code_name(package);
        let all = items(&folder.join(format!("{own}.json")));
        let nowhere = |item: &&String| !elsewhere.contains(&item.replace(&own, "…"));
        let lines: Vec<&String> = all.iter().filter(nowhere).collect();
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        elsewhere.extend(all.iter().map(|item| item.replace(&own, "…")));

        let path = texts.join(format!("{package}.txt"));
        let reviewed = fs::read_to_string(&path).unwrap_or_default();
        if write {
            fs::write(&path, text).expect("writes");
        } else if text != reviewed {
            let (now, before): (BTreeSet<&str>, BTreeSet<&str>) =
                (text.lines().collect(), reviewed.lines().collect());
            differ.extend(before.difference(&now).map(|line| format!("- {line}")));
            differ.extend(now.difference(&before).map(|line| format!("+ {line}")));
        }
    }
    assert!(
        differ.is_empty(),
        "the interface has changed. If it should, run `scripts/interface --write` and commit the texts:\n{}",
        differ.join("\n")
    );
}
