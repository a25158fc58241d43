//! docs/rules.md has each rule of the contract, with the cases and the planted bugs that the code has for it.

#[path = "support/tree.rs"]
mod tree;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use self::tree::{files, root};

const PAGE: &str = "docs/rules.md";
/// The environment variable by which the test writes the lists again.
const WRITE: &str = "EXPECTED";

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).expect("a text of the repository")
}

/// The texts of all Rust files below a folder of the repository.
fn sources(folder: &str) -> impl Iterator<Item = String> {
    let paths = files(&root().join(folder), "rs").into_iter();
    paths.map(|path| fs::read_to_string(path).expect("a text"))
}

/// `L4` of `l4_a_second_ack`, if it begins with a rule.
fn rule_of(name: &str) -> Option<String> {
    let (rule, _) = name.split_once('_')?;
    is_rule(&rule.to_uppercase()).then(|| rule.to_uppercase())
}

fn is_rule(text: &str) -> bool {
    let mut characters = text.chars();
    characters
        .next()
        .is_some_and(|first| first.is_ascii_uppercase())
        && text.len() > 1
        && characters.all(|rest| rest.is_ascii_digit())
}

/// The rules of the contract, with their titles: `**L4 Fencing.**`, or `**F1** messages …` without one.
fn rules() -> BTreeMap<String, String> {
    let contract = read("CONTRACT.md");
    let mut rules = BTreeMap::new();
    for bold in contract.split("**").skip(1).step_by(2) {
        let (rule, title) = bold.split_once(' ').unwrap_or((bold, ""));
        if is_rule(rule) {
            let title = title.trim_end_matches(['.', ':']);
            rules
                .entry(rule.to_owned())
                .or_insert_with(|| title.to_owned());
        }
    }
    rules
}

type Lists = BTreeMap<String, BTreeSet<String>>;

/// The cases of the suite, and of the schedules' tests, by rule.
fn cases() -> Lists {
    let mut cases = Lists::new();
    for folder in [
        "queue-conformance/src/cases",
        "queue-schedule/tests/schedule",
    ] {
        for text in sources(folder) {
            let names = text
                .split("async fn ")
                .skip(1)
                .chain(text.split("\nfn ").skip(1))
                .filter_map(|rest| rest.split('(').next());
            for name in names {
                if let Some(rule) = rule_of(name) {
                    cases.entry(rule).or_default().insert(name.to_owned());
                }
            }
        }
    }
    cases
}

/// The planted bugs that a rule's check may find: `name: …, by "L4" | "L5";`.
fn planted() -> Lists {
    let mut planted = Lists::new();
    for text in sources("queue-sim/tests/planted_bugs") {
        for line in text.lines() {
            let Some((name, by)) = line.split_once(", by \"") else {
                continue;
            };
            let name = name.split(':').next().expect("a part").trim();
            for rule in by.split('"').filter(|rule| is_rule(rule)) {
                planted
                    .entry(rule.to_owned())
                    .or_default()
                    .insert(name.to_owned());
            }
        }
    }
    planted
}

fn list(title: &str, names: Option<&BTreeSet<String>>) -> String {
    let Some(names) = names else {
        return String::new();
    };
    let count = names.len();
    let plural = if count == 1 { "" } else { "s" };
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let names = names.join(", ");
    format!("\n<details><summary>{count} {title}{plural}</summary>\n\n{names}\n\n</details>\n")
}

/// The page with its headings and lists as the code has them.
fn written(page: &str) -> String {
    let (rules, cases, planted) = (rules(), cases(), planted());
    let mut parts = page.split("\n### ");
    let mut written = parts.next().expect("the beginning").to_owned();
    for part in parts {
        let (heading, text) = part.split_once('\n').expect("a text");
        let rule = heading.split(' ').next().expect("a word");
        let title = rules.get(rule).map_or("", String::as_str);
        // The lists follow the story. A chapter may begin behind them.
        let (text, next) = match text.split_once("\n## ") {
            Some((text, next)) => (text, format!("\n## {next}")),
            None => (text, String::new()),
        };
        let story = text.split("<details>").next().expect("a story").trim();
        written += format!("\n### {rule} {title}").trim_end();
        written += &format!("\n\n{story}\n");
        written += &list("case", cases.get(rule));
        written += &list("planted bug", planted.get(rule));
        written += &next;
    }
    written
}

#[test]
fn the_page_has_each_rule_with_its_cases_and_planted_bugs() {
    let page = read(PAGE);
    let written = written(&page);
    if std::env::var(WRITE).is_ok_and(|value| value == "write") {
        fs::write(root().join(PAGE), &written).expect("writes");
    } else {
        assert!(
            page == written,
            "{PAGE} differs from the code: {WRITE}=write cargo test -p queue-kit --test rules"
        );
    }
    let headings = written.lines().filter_map(|line| line.strip_prefix("### "));
    let there: BTreeSet<&str> = headings.filter_map(|line| line.split(' ').next()).collect();
    let rules = rules();
    let all: BTreeSet<&str> = rules.keys().map(String::as_str).collect();
    assert_eq!(there, all, "{PAGE} and the contract have the same rules");
    assert!(all.len() > 50, "only {all:?}");
}

#[test]
fn each_rule_has_a_case() {
    let cases = cases();
    let without: Vec<String> = rules()
        .into_keys()
        .filter(|rule| !cases.contains_key(rule))
        .collect();
    assert!(without.is_empty(), "no case is named by {without:?}");
}
