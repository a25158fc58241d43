//! The scripts as the server gets them, checked by luacheck with the rules in `.luacheckrc`.

use std::{error::Error, fs, path::Path, process::Command};

use queue_redis::leak_finder;

#[test]
#[ignore = "it takes luacheck, which scripts/test installs"]
fn luacheck_finds_nothing() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lua");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    for (name, text) in queue_redis::scripts().chain([("leaks", leak_finder())]) {
        let path = folder.join(name).with_extension("lua");
        fs::create_dir_all(path.parent().ok_or("it is in a folder")?)?;
        fs::write(path, text)?;
    }
    let found = Command::new("luacheck")
        .args(["--quiet", "--no-color", "../redis-link/lua"])
        .arg(&folder)
        .args(["--config", ".luacheckrc"])
        .output()?;
    let output = String::from_utf8_lossy(&found.stdout);
    assert!(found.status.success(), "{output}");
    Ok(())
}
