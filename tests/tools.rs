//! Tests `scripts/tools.sh` as on other machines: programs in the `PATH` replace theirs.

#![cfg(unix)]

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

/// A folder of programs; the `PATH` has only this folder and the usual tools.
struct Machine(PathBuf);

impl Machine {
    fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("tools-{name}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("usual")).expect("a folder");
        for tool in ["awk", "bash", "cat", "grep", "sed"] {
            let found = Command::new("sh")
                .args(["-c", &format!("command -v {tool}")])
                .output();
            let found = String::from_utf8(found.expect("a shell").stdout).expect("a path");
            let link = folder.join("usual").join(tool);
            std::os::unix::fs::symlink(found.trim(), link).expect("a link");
        }
        let machine = Self(folder);
        machine.program("cargo", "echo \"cargo $*\"");
        machine
    }

    fn program(&self, name: &str, does: &str) {
        let path = self.0.join("usual").join(name);
        fs::write(&path, format!("#!/usr/bin/env bash\n{does}\n")).expect("writes");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
    }

    /// A rustup that has these toolchains, and can install others if `installs`.
    fn rustup(&self, toolchains: &str, installs: bool) {
        let list = self.0.join("toolchains");
        fs::write(&list, toolchains).expect("writes");
        let list = list.display();
        let install = match installs {
            true => format!("echo \"$3-x86_64-unknown-linux-gnu\" >>{list}"),
            false => "exit 1".to_owned(),
        };
        let does = format!("case $2 in list) cat {list} ;; install) {install} ;; esac");
        self.program("rustup", &does);
    }

    /// The status of this function of the script, and its output.
    fn run(&self, function: &str) -> (Option<i32>, String) {
        let script = format!("set -euo pipefail; source scripts/tools.sh; {function}");
        let output = Command::new("bash")
            .args(["-c", &script])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .env("PATH", self.0.join("usual"))
            .output()
            .expect("there is a bash");
        let printed = String::from_utf8(output.stdout).expect("text");
        (output.status.code(), printed.trim().to_owned())
    }
}

#[test]
fn the_minimum_rust_version_is_built_by_the_name_that_it_is_installed_under() {
    const STABLE: &str = "stable-x86_64-unknown-linux-gnu (active, default)\n";
    let version = env!("CARGO_PKG_RUST_VERSION").trim_end_matches(".0");
    for (machine, installed, installs, built) in [
        ("short", Some(version.to_owned()), false, true),
        ("long", Some(format!("{version}.0")), false, true),
        ("other", Some(format!("{version}0.1")), false, false),
        ("installs", None, true, true),
        ("offline", None, false, false),
    ] {
        let machine = Machine::new(machine);
        let installed = installed.map(|name| format!("{name}-x86_64-unknown-linux-gnu"));
        machine.rustup(
            &format!("{STABLE}{}\n", installed.as_deref().unwrap_or_default()),
            installs,
        );
        let (status, printed) = machine.run("check_msrv");
        match built {
            true => {
                let toolchain =
                    installed.unwrap_or_else(|| format!("{version}-x86_64-unknown-linux-gnu"));
                let cargo = format!("cargo +{toolchain} check --workspace --all-features");
                assert_eq!((status, printed), (Some(0), cargo));
            }
            false => assert_eq!((status, printed), (Some(69), String::new())),
        }
    }
}

#[test]
fn without_rustup_the_minimum_rust_version_is_not_built() {
    let machine = Machine::new("none");
    assert_eq!(machine.run("check_msrv"), (Some(69), String::new()));
}
