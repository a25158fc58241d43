//! README.md and docs/testing.md, in a crate with the dependencies that they add and no others.

use std::{fs, os::unix::fs::symlink, path::Path};

use crate::following::{Folder, shell};

/// The text of the page's blocks in a language, `rust` or `console`.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let blocks = page.split("\n```").skip(1).step_by(2);
    let of = |block: &str| {
        block
            .strip_prefix(&format!("{language}\n"))
            .map(str::to_owned)
    };
    blocks.filter_map(of).collect()
}

fn page(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(root.join(name)).expect("the page")
}

/// The commands of the first console block, as one script.
fn commands(page: &str) -> String {
    let block = &blocks(page, "console")[0];
    let commands = block.lines().filter_map(|line| line.strip_prefix("$ "));
    commands.collect::<Vec<_>>().join("\n")
}

fn run(script: &str, folder: &Path) {
    let (printed, passed) = shell(&format!("(set -e\n{script}\n)"), folder);
    assert!(passed, "{script}\n{printed}");
}

pub(crate) fn follow(folder: &Folder) {
    let (readme, testing) = (page("README.md"), page("docs/testing.md"));
    let (checkout, home) = (folder.path("queue-kit"), folder.path("home"));
    fs::create_dir(&home).expect("a folder");
    symlink(checkout, home.join("queue-kit")).expect("a link");
    let install = commands(&readme).replace("~/", &format!("{}/", home.display()));
    run(&install, &home);
    let shop = home.join("shop");
    for folder in ["src/bin", "tests"] {
        fs::create_dir_all(shop.join(folder)).expect("a folder");
    }
    for (number, block) in blocks(&readme, "rust").iter().enumerate() {
        fs::write(shop.join(format!("src/bin/block_{number}.rs")), block).expect("writes");
    }
    run("cargo check --bins", &shop);
    // What tests need besides comes last: the README's blocks do not need it.
    run(&commands(&testing), &shop);
    for (number, block) in blocks(&testing, "rust").iter().enumerate() {
        fs::write(shop.join(format!("tests/block_{number}.rs")), block).expect("writes");
    }
    run("cargo test --tests", &shop);
}
