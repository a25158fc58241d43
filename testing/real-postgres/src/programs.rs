//! Where the programs are, and as whom they run.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use crate::ServerError;

/// The variable that names the folder of Postgres' programs.
const FOLDER: &str = "QUEUE_TEST_POSTGRES_BIN";

/// The user as whom root runs Postgres.
const USER: &str = "postgres";

/// A command of this program, as somebody else if we are root.
pub(crate) fn command(program: &str) -> Result<Command, ServerError> {
    let path = find(program)?;
    if !is_root() {
        return Ok(Command::new(path));
    }
    let mut command = Command::new("setpriv");
    command
        .arg(format!("--reuid={USER}"))
        .arg(format!("--regid={USER}"))
        .args(["--clear-groups", "--"])
        .arg(path);
    Ok(command)
}

/// The numbers of the user and the group as whom Postgres runs.
pub(crate) fn user() -> Result<String, ServerError> {
    let number = |what: &str| {
        let mut id = Command::new("id");
        id.arg(what);
        if is_root() {
            id.arg(USER);
        }
        run(&mut id).map(|number| number.trim_end().to_owned())
    };
    Ok(format!("{}:{}", number("-u")?, number("-g")?))
}

/// Gives a folder to the user as whom the programs run.
pub(crate) fn give(folder: &Path) -> Result<(), ServerError> {
    if is_root() {
        let mut chown = Command::new("chown");
        run(chown.arg(USER).arg(folder))?;
    }
    Ok(())
}

/// Runs a command to its end, and returns what it prints.
pub(crate) fn run(command: &mut Command) -> Result<String, ServerError> {
    let what = format!("{command:?}");
    // A folder that both users may read.
    let output = command.current_dir("/").output();
    let output = output.map_err(|error| ServerError::tried(&what, error))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(ServerError::tried(&what, said));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|id| id.stdout == b"0\n")
}

fn find(program: &str) -> Result<PathBuf, ServerError> {
    let named = env::var_os(FOLDER).map(PathBuf::from);
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = named.into_iter().chain(env::split_paths(&path)).collect();
    // Debian keeps the programs of each version apart, and PgBouncer among those of administrators.
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten();
    let mut versions: Vec<PathBuf> = versions.flatten().map(|entry| entry.path()).collect();
    versions.sort();
    folders.extend(versions.iter().rev().map(|version| version.join("bin")));
    folders.push(PathBuf::from("/usr/sbin"));
    let mut places = folders.iter().map(|folder| folder.join(program));
    places.find(|place| place.is_file()).ok_or_else(|| {
        ServerError::new(format!(
            "there is no `{program}`: install Debian's packages postgresql and pgbouncer, or name the folder of Postgres' \
             programs by {FOLDER}"
        ))
    })
}
