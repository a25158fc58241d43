//! Grouped queues on a server that compares texts by the rules of a language: their order stays that of bytes.

use std::{fs, path::Path, process::Command, sync::LazyLock};

use real_redis::{Server, ServerPlace};

use crate::harness::VirtualTimeHarness;

const LOCALE: &str = "en_US.UTF-8";

/// It is never dropped; its watchdog ends it with the process.
static SERVER: LazyLock<Server> = LazyLock::new(|| {
    let locales = Path::new(env!("CARGO_TARGET_TMPDIR")).join("locales");
    make_locale(&locales);
    let server = Server::builder()
        .with_variable("LC_ALL", LOCALE)
        .with_variable("LOCPATH", locales.to_string_lossy());
    server.start().unwrap_or_else(|error| panic!("{error}"))
});

/// Makes the locale from its sources, unless an earlier run has made it. It needs no rights.
fn make_locale(folder: &Path) {
    let made = folder.join(LOCALE);
    if made.exists() {
        return;
    }
    let making = folder.join(format!("making-{}", std::process::id()));
    fs::create_dir_all(&making).expect("a folder of our own");
    let program = Command::new("localedef")
        .args(["--no-archive", "-i", "en_US", "-f", "UTF-8"])
        .arg(&making)
        .output();
    let output =
        program.expect("localedef runs: install glibc's programs, which scripts/test does");
    assert!(
        output.status.success(),
        "the locale {LOCALE} cannot be made: install the package locales, which scripts/test does; {}",
        String::from_utf8_lossy(&output.stderr)
    );
    // Another run may have been faster.
    if fs::rename(&making, &made).is_err() {
        drop(fs::remove_dir_all(&making));
    }
}

#[test]
fn the_server_compares_texts_by_its_locale() {
    let compared: Option<bool> = SERVER.ask(&["EVAL", "return 'a' < 'B'", "0"]).unwrap();
    assert_eq!(compared, Some(true), "by bytes, B is less than a");
}

/// Every case of grouped queues, among them the turns and pages by key.
#[test]
fn groups_take_turns_by_the_bytes_of_their_keys() {
    let cases = queue_conformance::cases().iter();
    for case in cases.filter(|case| case.name().starts_with("grouped::")) {
        case.run(&VirtualTimeHarness::at(ServerPlace::on(&SERVER)));
    }
}
