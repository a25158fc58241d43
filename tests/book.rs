//! The book that `scripts/book` makes has each page of `docs/`, and its links lead to something.
#![cfg(unix)]

#[path = "support/tree.rs"]
mod tree;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use self::tree::{files, root};

/// The values of an attribute in an HTML text.
fn attribute<'a>(html: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let start = format!(" {name}=\"");
    let parts: Vec<&str> = html.split(&*start).skip(1).collect();
    parts.into_iter().filter_map(|part| part.split('"').next())
}

#[test]
fn each_page_is_a_chapter() {
    let chapters = fs::read_to_string(root().join("docs/SUMMARY.md")).expect("the chapters");
    for page in files(&root().join("docs"), "md") {
        let name = page
            .strip_prefix(root().join("docs"))
            .expect("it is inside");
        let link = format!("]({})", name.display());
        assert!(
            name == Path::new("SUMMARY.md") || chapters.contains(&link),
            "docs/SUMMARY.md has no chapter {link}"
        );
    }
}

/// The text of all tests and of the code with its tests.
fn tests() -> String {
    let mut tests = String::new();
    for folder in fs::read_dir(root()).expect("the workspace") {
        let folder = folder.expect("an entry").path();
        let of_tests = ["src", "tests", "examples"];
        let of_tests = of_tests.iter().any(|name| folder.ends_with(name));
        if folder.join("Cargo.toml").exists() || of_tests {
            for file in files(&folder, "rs") {
                if !file.ends_with("tests/book.rs") {
                    tests += &fs::read_to_string(file).expect("a text");
                }
            }
        }
    }
    tests
}

/// Every page makes claims, and some test follows each page.
#[test]
fn each_page_is_followed_by_a_test() {
    let tests = tests();
    for page in files(&root().join("docs"), "md") {
        let name = page
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let named = [format!("docs/{name}\""), format!("\"{name}\"")];
        let followed = match name.as_str() {
            // Followed by tests here.
            "SUMMARY.md" | "comparison.md" => true,
            _ => named.iter().any(|named| tests.contains(named)),
        };
        assert!(followed, "no test reads docs/{name}");
    }
}

/// A promise of ours in the comparison stands beside the test that holds it.
#[test]
fn the_tests_that_the_comparison_names_exist() {
    let page = fs::read_to_string(root().join("docs/comparison.md")).expect("the page");
    let tests = tests();
    let names = page.split('`').skip(1).step_by(2);
    let names: Vec<&str> = names.filter(|name| name.matches('_').count() > 3).collect();
    assert!(names.len() > 10, "only {names:?}");
    for name in names {
        assert!(
            tests.contains(&format!("fn {name}(")),
            "there is no test {name}"
        );
    }
}

/// scripts/test runs this with `--ignored`.
#[test]
#[ignore = "it builds mdBook: cargo test --test book -- --ignored"]
fn the_links_of_the_book_lead_somewhere() {
    let output = Command::new(root().join("scripts/book"))
        .output()
        .expect("it starts");
    let (said, printed) = (
        String::from_utf8_lossy(&output.stderr),
        String::from_utf8_lossy(&output.stdout),
    );
    assert!(output.status.success(), "{printed}{said}");
    for word in ["WARN", "ERROR"] {
        assert!(!said.contains(word), "{said}");
    }
    let first = PathBuf::from(printed.lines().last().expect("the first page").trim());
    let book = first.parent().expect("its folder");
    let pages: BTreeMap<PathBuf, String> = files(book, "html")
        .into_iter()
        .map(|page| {
            let html = fs::read_to_string(&page).expect("a page");
            (page, html)
        })
        .collect();
    assert!(pages.len() > 20, "only {} pages", pages.len());
    let (mut checked, mut dead) = (0, Vec::new());
    for (page, html) in &pages {
        // Its links are meant for any folder below the site's root.
        if page.ends_with("404.html") {
            continue;
        }
        // A reader may be without a network.
        let loaded = attribute(html, "src").filter(|source| source.contains("://"));
        dead.extend(loaded.map(|source| format!("{} loads {source}", page.display())));
        for link in attribute(html, "href").chain(attribute(html, "src")) {
            if link.is_empty() || link.contains(':') {
                continue;
            }
            checked += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let folder = page.parent().expect("a folder");
            let target = match file {
                "" => page.clone(),
                file => folder.join(file),
            };
            let target = target.canonicalize().unwrap_or(target);
            let found = match pages.get(&target) {
                Some(html) => anchor.is_empty() || attribute(html, "id").any(|id| id == anchor),
                None => target.is_file(),
            };
            if !found {
                let page = page.strip_prefix(book).expect("it is inside");
                dead.push(format!("{} links to {link}", page.display()));
            }
        }
    }
    assert!(checked > 500, "only {checked} links were found");
    assert!(dead.is_empty(), "{}", dead.join("\n"));
}
