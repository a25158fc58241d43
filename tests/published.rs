//! Each crate that is published says in its package what it is for, and under which licences.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The folders of all published crates but queue-kit.
fn published() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let testing = fs::read_dir(root.join("testing")).expect("its folder");
    let folders = fs::read_dir(root).expect("the workspace").chain(testing);
    folders
        .map(|folder| folder.expect("an entry").path())
        .filter(|folder| {
            let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
            manifest.contains("\nname = ") && !manifest.contains("publish = false")
        })
        .collect()
}

/// The text between quotes behind this key of a manifest.
fn value(manifest: &str, key: &str) -> String {
    let start = format!("{key} = \"");
    let line = manifest
        .lines()
        .find_map(|line| line.strip_prefix(start.as_str()));
    let line = line.unwrap_or_else(|| panic!("no {key} in {manifest}"));
    line.trim_end_matches('"').replace("\\\"", "\"")
}

#[test]
fn each_crate_has_a_readme_and_both_licences() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = published();
    assert!(crates.len() >= 10, "{crates:?}");
    for folder in crates {
        let read = |name: &str| {
            let path = folder.join(name);
            fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        let manifest = read("Cargo.toml");
        let (name, description) = (value(&manifest, "name"), value(&manifest, "description"));
        let readme = read("README.md");
        let words: Vec<&str> = readme.split_whitespace().collect();
        assert!(
            words
                .join(" ")
                .starts_with(&format!("# {name} {description}.")),
            "{}: README.md begins with other words than the manifest's description",
            folder.display()
        );
        for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let own = fs::read_to_string(root.join(licence)).expect("the licence");
            assert_eq!(read(licence), own, "{}: {licence}", folder.display());
        }
    }
}

/// The page about versions says what the code and the tests do.
#[test]
fn the_page_about_versions_is_about_this_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/versions.md")).expect("the page");
    let layout = queue_kit::LAYOUT_VERSION;
    let sentence = format!("The number is **{layout}** from");
    assert!(page.contains(&sentence), "{sentence}");
    for stored in 1..=layout {
        let file = format!("queue-redis/tests/stored/layout_{stored}.txt");
        assert!(root.join(&file).exists(), "{file}");
    }
    assert!(page.contains("`tests/interface/`") && root.join("tests/interface").is_dir());
}
