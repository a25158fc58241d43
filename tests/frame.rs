//! The claims of the manifests, checked against cargo's metadata.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::Command,
};

use serde_json::Value;

/// The answer of `cargo metadata` for this platform's build of the workspace.
fn metadata() -> Value {
    metadata_of("Cargo.toml")
}

fn metadata_of(manifest: &str) -> Value {
    let host = host();
    cargo(&[
        "metadata",
        "--locked",
        "--manifest-path",
        manifest,
        "--format-version",
        "1",
        "--all-features",
        "--filter-platform",
        &host,
    ])
}

fn cargo(arguments: &[&str]) -> Value {
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {arguments:?}: {said}");
    serde_json::from_slice(&output.stdout).expect("cargo prints JSON")
}

fn host() -> String {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let output = Command::new(rustc).arg("-vV").output().expect("rustc runs");
    let said = String::from_utf8(output.stdout).expect("rustc prints text");
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("rustc names its host").to_owned()
}

/// The packages that a user of these members builds: no dev-dependencies.
fn built_for_users(metadata: &Value) -> BTreeSet<&str> {
    let nodes = metadata["resolve"]["nodes"].as_array().unwrap();
    let members = packages(metadata).filter(|package| package["publish"] != serde_json::json!([]));
    let mut open: Vec<&str> = members
        .filter(|package| package["source"].is_null())
        .map(|package| package["id"].as_str().unwrap())
        .collect();
    let mut found = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !found.insert(id) {
            continue;
        }
        let node = nodes.iter().find(|node| node["id"] == id).unwrap();
        for dependency in node["deps"].as_array().unwrap() {
            let mut kinds = dependency["dep_kinds"].as_array().unwrap().iter();
            if kinds.any(|kind| kind["kind"] != "dev") {
                open.push(dependency["pkg"].as_str().unwrap());
            }
        }
    }
    found
}

fn packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    metadata["packages"].as_array().unwrap().iter()
}

fn version(text: &str) -> Vec<u32> {
    let parts = text.split('.').map(|part| part.parse().unwrap());
    parts.chain([0, 0]).take(3).collect()
}

#[test]
fn no_dependency_asks_for_a_newer_rust_than_we_state() {
    check_rust_versions(&metadata());
}

fn check_rust_versions(metadata: &Value) {
    let built = built_for_users(metadata);
    assert!(built.len() > 10, "only {built:?}");
    let ours = version(env!("CARGO_PKG_RUST_VERSION"));
    for package in
        packages(metadata).filter(|package| built.contains(package["id"].as_str().unwrap()))
    {
        if let Some(theirs) = package["rust_version"].as_str() {
            assert!(
                version(theirs) <= ours,
                "{} needs Rust {theirs}",
                package["id"]
            );
        }
    }
}

/// The versions in a lock file, each under its package and the number that a requirement keeps fixed:
/// `bytes 1`.
fn locked(file: &str) -> BTreeMap<String, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let text = std::fs::read_to_string(path).unwrap();
    let packages = text.split("[[package]]").skip(1);
    let value = |package: &str, key: &str| {
        let mut values = package.lines().filter_map(|line| line.strip_prefix(key));
        values.next().unwrap().trim_matches('"').to_owned()
    };
    let version = |package| {
        let (name, version) = (value(package, "name = "), value(package, "version = "));
        let held = match version.split_once('.').unwrap() {
            ("0", rest) => format!("0.{}", rest.split('.').next().unwrap()),
            (major, _) => major.to_owned(),
        };
        (format!("{name} {held}"), version)
    };
    packages.map(version).collect()
}

/// The two share a target folder, so a crate that both need is built once.
#[test]
fn redis_container_has_our_versions_of_the_crates_that_it_shares() {
    let ours = locked("Cargo.lock");
    for (package, theirs) in locked("testing/redis-container/Cargo.lock") {
        let ours = ours.get(&package).unwrap_or(&theirs);
        assert_eq!(theirs, *ours, "{package}: cargo update --precise {ours}");
    }
}

/// `url` reads host names by one of three back ends, which the lock file chooses (see `idna_adapter`). The
/// default is ICU, with twenty more crates for each set of features that we build.
#[test]
fn our_own_builds_leave_icu_out() {
    let ours = locked("Cargo.lock");
    let icu = ours.keys().find(|package| package.starts_with("icu_"));
    assert_eq!(icu, None, "cargo update -p idna_adapter --precise 1.1.0");
}

#[test]
fn every_member_states_the_same_rust_and_licence() {
    check_statements(&metadata());
}

fn check_statements(metadata: &Value) {
    for package in packages(metadata).filter(|package| package["source"].is_null()) {
        assert_eq!(
            package["rust_version"],
            env!("CARGO_PKG_RUST_VERSION"),
            "{}",
            package["name"]
        );
        assert_eq!(
            package["license"], "MIT OR Apache-2.0",
            "{}",
            package["name"]
        );
    }
}

#[test]
#[ignore = "it fetches what no other build has; scripts/containers runs it"]
fn redis_container_claims_the_same_and_no_more() {
    let metadata = metadata_of("testing/redis-container/Cargo.toml");
    check_rust_versions(&metadata);
    check_statements(&metadata);
}

/// Dev-dependencies count, too: otherwise a crate could not be published before one that needs it.
#[test]
fn no_two_members_depend_on_each_other() {
    let metadata = metadata();
    let members: Vec<&Value> = packages(&metadata)
        .filter(|package| package["source"].is_null())
        .collect();
    let mut names: BTreeSet<&str> = members
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert!(names.len() >= 9, "{names:?}");
    let stands_on = |package: &Value, names: &BTreeSet<&str>| {
        let dependencies = package["dependencies"].as_array().unwrap();
        let ours = |dependency: &Value| names.contains(dependency["name"].as_str().unwrap());
        dependencies.iter().any(ours)
    };
    while !names.is_empty() {
        let free: Vec<&str> = members
            .iter()
            .filter(|package| names.contains(package["name"].as_str().unwrap()))
            .filter(|package| !stands_on(package, &names))
            .map(|package| package["name"].as_str().unwrap())
            .collect();
        assert!(!free.is_empty(), "these depend on each other: {names:?}");
        names.retain(|name| !free.contains(name));
    }
}

#[test]
fn the_files_that_architecture_names_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let words = text.split(|c: char| c.is_whitespace() || "`(),;".contains(c));
    let files = words.filter(|word| word.contains("/src/") && word.ends_with(".rs"));
    let files: BTreeSet<&str> = files.collect();
    assert!(files.len() > 30, "only {files:?}");
    for file in files {
        assert!(root.join(file).is_file(), "there is no {file}");
    }
}

#[test]
fn links_between_the_documents_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut checked = 0;
    for folder in [root.to_owned(), root.join("docs")] {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "md") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let targets = text
                .split("](")
                .skip(1)
                .filter_map(|rest| rest.split([')', '#']).next());
            for target in targets.filter(|target| !target.is_empty() && !target.contains("://")) {
                checked += 1;
                assert!(
                    folder.join(target).exists(),
                    "{} links to {target}",
                    path.display()
                );
            }
        }
    }
    assert!(checked > 5, "only {checked} links were found");
}
