//! Dependencies between files point one way, like dependencies between crates.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fs,
    path::{Path, PathBuf},
};

/// A path of names, as in `use` declarations, from the crate's root.
type Names = Vec<String>;

/// One file.
struct Module {
    file: PathBuf,
    /// The paths in this crate that it names.
    uses: BTreeSet<Names>,
    /// Its re-exports of this crate's definitions, by the name that it gives them.
    offers: BTreeMap<String, Names>,
    /// The modules from which it re-exports all names.
    globs: Vec<Names>,
    /// The names that its text defines.
    defines: BTreeSet<String>,
    /// Its modules of tests, which may import everything.
    tests: Vec<Names>,
}

/// The words before the names of definitions.
const DEFINING: [&str; 6] = ["const", "enum", "fn", "struct", "trait", "type"];

/// The files of one crate, by module.
struct Crate(BTreeMap<Names, Module>);

#[test]
fn neither_files_nor_folders_import_one_another_in_a_circle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut seen = 0;
    let mut circles = Vec::new();
    let testing = fs::read_dir(root.join("testing")).expect("its folder");
    for folder in fs::read_dir(root).expect("the workspace").chain(testing) {
        let source = folder.expect("an entry").path().join("src");
        if source.join("lib.rs").exists() {
            let house = Crate::read(&source);
            seen += house.0.len();
            circles.extend(house.circles());
            circles.extend(house.circles_of_folders());
        }
    }
    assert!(seen > 200, "only {seen} files were read");
    assert!(circles.is_empty(), "{}", circles.join("\n"));
}

/// The names of queue-core that redis-link uses: errors, times, the tasks of its caller, and the copies of a write that
/// its caller asks for. See ARCHITECTURE.md, 'Connections know no queue'.
const BELOW_QUEUES: [&str; 13] = [
    "Confirmation",
    "Copies",
    "Error",
    "ErrorKind",
    "Outcome",
    "Result",
    "Running",
    "Spawn",
    "Timestamp",
    "TokioSpawn",
    "caller_deadline",
    "in_millis",
    "with_sources",
];

/// Words of queues, which redis-link does not say; and the names of our crates, which it may say.
const QUEUES: [&str; 13] = [
    "ack",
    "bodies",
    "body",
    "consumer",
    "consumers",
    "delivery",
    "lease",
    "leased",
    "leases",
    "producer",
    "queue",
    "queues",
    "settle",
];
const CRATES: [&str; 5] = [
    "queue-core",
    "queue-kit",
    "queue-redis",
    "queue_core",
    "queue_testing",
];

#[test]
fn redis_link_knows_no_queue() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("redis-link");
    let (mut used, mut said, mut seen) = (BTreeSet::new(), Vec::new(), 0);
    let mut folders = vec![source.join("src"), source.join("lua")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.ends_with("tests") || path.ends_with("tests.rs") {
                continue;
            } else if path.is_dir() {
                folders.push(path);
                continue;
            }
            seen += 1;
            let text = fs::read_to_string(&path).expect("a text");
            let code = code(&text);
            for names in code.split("queue_core::").skip(1) {
                let ends = |c: char| match names.starts_with('{') {
                    true => c == ';',
                    false => !(c.is_alphanumeric() || c == '_'),
                };
                let paths = leaves(names.split(ends).next().unwrap_or_default(), &[]);
                used.extend(
                    paths
                        .into_iter()
                        .filter_map(|(path, _)| path.into_iter().next()),
                );
            }
            let text = without_tests(&text).to_lowercase();
            let text = CRATES
                .iter()
                .fold(text, |text, name| text.replace(name, ""));
            let mut words = text.split(|c: char| !c.is_alphabetic());
            if let Some(word) = words.find(|word| QUEUES.contains(word) || word.starts_with("qk")) {
                said.push(format!("{} says {word}", path.display()));
            }
        }
    }
    assert!(seen > 50, "only {seen} files were read");
    let used: BTreeSet<&str> = used.iter().map(String::as_str).collect();
    assert_eq!(used, BTreeSet::from(BELOW_QUEUES), "imports of queue-core");
    assert!(said.is_empty(), "{}", said.join("\n"));
}

#[test]
fn a_circle_is_found_also_through_what_a_parent_offers() {
    let modules = [
        (
            "",
            "mod a;\nmod b;\npub use self::{a::A, b::{B, other as C}, c::*};",
        ),
        ("a", "use crate::{C, std::Thing};\npub struct A;"),
        (
            "b",
            "pub struct B;\npub fn other() { super::A; } // crate::a",
        ),
        ("c", "mod d;\npub use self::d::D;\npub struct E;"),
        ("c::d", "use crate::{f::F, g::G};\npub struct D;"),
        ("f", "use crate::D;\npub struct F;"),
        ("g", "use crate::E;\npub struct G;"),
    ];
    let house = Crate::of(&modules);
    let circles = ["a circle of imports: a, b", "a circle of imports: c::d, f"];
    assert_eq!(house.circles(), circles);
}

#[test]
fn a_circle_of_folders_is_found_where_no_files_are_in_one() {
    let modules = [
        ("low::a", "use crate::high::c::C;"),
        ("low::b", "pub struct B;"),
        ("high::c", "pub struct C;"),
        ("high::d", "use crate::low::b::B;"),
    ];
    let house = Crate::of(&modules);
    assert_eq!(house.circles(), [""; 0]);
    assert_eq!(
        house.circles_of_folders(),
        ["a circle of imports: high, low"]
    );
}

impl Crate {
    /// Modules by their paths and texts.
    fn of(modules: &[(&str, &str)]) -> Self {
        let modules = modules.iter().map(|(name, text)| {
            let module: Names = name.split_terminator("::").map(str::to_owned).collect();
            (module.clone(), Module::read(name.into(), &module, text))
        });
        Self(modules.collect())
    }

    fn read(source: &Path) -> Self {
        let mut modules = BTreeMap::new();
        let mut folders = vec![source.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() && !path.ends_with("bin") {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let inside = path.strip_prefix(source).expect("it is inside");
                    let mut names: Names = inside.with_extension("").iter().map(text).collect();
                    if matches!(names.last().map(String::as_str), Some("lib" | "mod")) {
                        names.pop();
                    }
                    let code = fs::read_to_string(&path).expect("a text");
                    modules.insert(names.clone(), Module::read(path, &names, &code));
                }
            }
        }
        Self(modules)
    }

    /// The modules that each module imports. A folder's own file lists the folder's files, and those use its
    /// definitions: this is no import.
    fn imports(&self) -> BTreeMap<&Names, BTreeSet<&Names>> {
        let tests: Vec<&Names> = self.0.values().flat_map(|module| &module.tests).collect();
        let mut imports = BTreeMap::new();
        for (name, module) in &self.0 {
            if tests.iter().any(|tests| name.starts_with(tests)) {
                imports.insert(name, BTreeSet::new());
                continue;
            }
            let homes = module.uses.iter().filter_map(|path| self.home(path, 0));
            let others = homes.filter(|home| !home.starts_with(name));
            imports.insert(name, others.collect());
        }
        imports
    }

    /// Files that import one another in a circle, the shortest circle of each.
    fn circles(&self) -> Vec<String> {
        circles(&self.imports(), |name| {
            self.0[name].file.display().to_string()
        })
    }

    /// The same of the crate's uppermost folders. A file beside them counts as a folder.
    fn circles_of_folders(&self) -> Vec<String> {
        let mut imports: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (name, homes) in self.imports() {
            let Some(folder) = name.first() else {
                continue; // It lists the folders.
            };
            let of_folder = imports.entry(folder).or_default();
            let others = homes.iter().filter_map(|home| home.first());
            of_folder.extend(others.filter(|other| *other != folder).map(String::as_str));
        }
        circles(&imports, str::to_owned)
    }

    /// The module that defines what a path names.
    fn home(&self, path: &[String], depth: usize) -> Option<&Names> {
        if let Some((module, _)) = self.0.get_key_value(path) {
            return Some(module);
        }
        let length = (0..path.len())
            .rev()
            .find(|length| self.0.contains_key(&path[..*length]))?;
        let (module, rest) = path.split_at(length);
        let (module, found) = self.0.get_key_value(module)?;
        match found.offers.get(&rest[0]) {
            Some(elsewhere) if depth < 8 => {
                let elsewhere = [&elsewhere[..], &rest[1..]].concat();
                self.home(&elsewhere, depth + 1)
            }
            _ => {
                let has_it =
                    |glob: &&Names| self.0.get(*glob).is_some_and(|there| there.has(&rest[0]));
                match found.globs.iter().find(has_it) {
                    Some(glob) => self.home(&[&glob[..], rest].concat(), depth + 1),
                    None => Some(module),
                }
            }
        }
    }
}

/// The shortest circle of each that imports itself by way of others.
fn circles<'a, N: Ord + ?Sized>(
    imports: &BTreeMap<&'a N, BTreeSet<&'a N>>,
    told: impl Fn(&N) -> String,
) -> Vec<String> {
    let mut circles = BTreeMap::new();
    for first in imports.keys().copied() {
        if let Some(circle) = way_back(first, imports) {
            let names: Vec<String> = circle.iter().map(|name| told(name)).collect();
            let members: BTreeSet<&N> = circle.into_iter().collect();
            let told = format!("a circle of imports: {}", names.join(", "));
            circles.entry(members).or_insert(told);
        }
    }
    circles.into_values().collect()
}

/// The shortest way by imports from a module back to itself.
fn way_back<'a, N: Ord + ?Sized>(
    first: &'a N,
    imports: &BTreeMap<&'a N, BTreeSet<&'a N>>,
) -> Option<Vec<&'a N>> {
    let mut ways = VecDeque::from([vec![first]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        for next in &imports[way[way.len() - 1]] {
            if *next == first {
                return Some(way);
            }
            if seen.insert(*next) {
                ways.push_back([&way[..], &[*next]].concat());
            }
        }
    }
    None
}

impl Module {
    fn read(file: PathBuf, module: &[String], text: &str) -> Self {
        let mut read = Self {
            file,
            uses: BTreeSet::new(),
            offers: BTreeMap::new(),
            globs: Vec::new(),
            defines: BTreeSet::new(),
            tests: Vec::new(),
        };
        for after in text.split("#[cfg(test)]\nmod ").skip(1) {
            let name = after.split([';', ' ']).next().unwrap_or_default();
            read.tests.push([module, &[name.to_owned()]].concat());
        }
        let code = code(text);
        let mut rest = String::new();
        for statement in code.split_inclusive(';') {
            let line = statement.rfind("use ").filter(|at| {
                let before = statement[..*at].trim_end();
                before.is_empty()
                    || before.ends_with(['}', ';', ']', ')'])
                    || before.ends_with("pub")
            });
            let Some(at) = line else {
                rest.push_str(statement);
                continue;
            };
            rest.push_str(&statement[..at]);
            let before = statement[..at].trim_end();
            let offers =
                before.ends_with("pub") || before.ends_with(')') && before.contains("pub(");
            let tree = statement[at + 4..].trim_end_matches(';');
            for (path, name) in leaves(tree, &[]) {
                if let Some(path) = from_root(module, &path) {
                    match name.as_str() {
                        _ if !offers => {}
                        "*" => read.globs.push(path.clone()),
                        _ => drop(read.offers.insert(name, path.clone())),
                    }
                    read.uses.insert(path);
                }
            }
        }
        let words = rest.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let defined = words.windows(2).filter(|pair| DEFINING.contains(&pair[0]));
        read.defines = defined.map(|pair| pair[1].to_owned()).collect();
        for path in words.into_iter().filter(|word| word.contains("::")) {
            let path: Names = path.split("::").map(str::to_owned).collect();
            if matches!(path[0].as_str(), "crate" | "super" | "self") {
                read.uses.extend(from_root(module, &path));
            }
        }
        read
    }

    fn has(&self, name: &str) -> bool {
        self.offers.contains_key(name) || self.defines.contains(name)
    }
}

/// The text without comments, string literals and unit tests.
fn code(text: &str) -> String {
    let mut code = String::new();
    for line in without_tests(text).lines() {
        let line = line.split("//").next().unwrap_or_default();
        let unquoted = line.split('"').step_by(2);
        code.extend(unquoted.chain(["\n"]));
    }
    code
}

/// The text before its unit tests, if they are in the same file.
fn without_tests(text: &str) -> &str {
    let mut tests = text.match_indices("#[cfg(test)]\nmod ");
    let is_here = |at: usize| {
        text[at..]
            .lines()
            .nth(1)
            .is_some_and(|line| line.ends_with('{'))
    };
    tests
        .find(|(at, _)| is_here(*at))
        .map_or(text, |(at, _)| &text[..at])
}

/// The leaves of a `use` tree: each path, and its name in this file.
fn leaves(tree: &str, before: &[String]) -> Vec<(Names, String)> {
    let mut found = Vec::new();
    for branch in branches(tree) {
        let (path, branches) = branch.split_once('{').unwrap_or((branch, ""));
        let (path, renamed) = path.split_once(" as ").unwrap_or((path, ""));
        let names = path.split("::").map(str::trim);
        let mut path = before.to_vec();
        path.extend(names.filter(|name| !name.is_empty()).map(str::to_owned));
        if branches.is_empty() {
            let mut last = path.last().cloned().unwrap_or_default();
            if matches!(last.as_str(), "self" | "*") && path.len() > 1 {
                path.pop();
            }
            if last == "self" {
                last = path.last().cloned().unwrap_or_default();
            }
            let name = if renamed.is_empty() {
                last
            } else {
                renamed.trim().to_owned()
            };
            found.push((path, name));
        } else {
            found.extend(leaves(branches.trim_end().trim_end_matches('}'), &path));
        }
    }
    found
}

/// The pieces of a tree between its outermost commas.
fn branches(tree: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0);
    for (at, c) in tree.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&tree[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&tree[start..]);
    parts.retain(|part| !part.trim().is_empty());
    parts
}

/// A path from the crate's root, if it is in this crate.
fn from_root(module: &[String], path: &[String]) -> Option<Names> {
    let mut names = match path.first()?.as_str() {
        "crate" => Vec::new(),
        "self" | "super" => module.to_vec(),
        _ => return None,
    };
    for name in path {
        match name.as_str() {
            "crate" | "self" => {}
            "super" => drop(names.pop()),
            name => names.push(name.to_owned()),
        }
    }
    Some(names)
}

fn text(part: &std::ffi::OsStr) -> String {
    part.to_string_lossy().into_owned()
}
