//! The folder of a server.

use std::{
    env, fs, io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
};

use super::ServerError;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A Unix socket's path holds about a hundred bytes; if the temporary folder's path is longer than
/// this, `/tmp` takes its place.
const LONGEST_TEMPORARY: usize = 60;

/// Makes a new folder that only this user can read.
///
/// The watchdog removes it, since it outlives a killed test.
pub(super) fn make() -> Result<PathBuf, ServerError> {
    let mut parent = env::temp_dir();
    if parent.as_os_str().len() > LONGEST_TEMPORARY {
        parent = PathBuf::from("/tmp");
    }
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = parent.join(format!("real-redis-{}-{number}", process::id()));
        match fs::DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => return plain(folder),
            // An earlier process with our id left it.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                let what = format!("cannot make the folder {}", folder.display());
                return Err(ServerError::tried(&what, error));
            }
        }
    }
}

/// Returns the folder, if a configuration file can name it without escapes.
fn plain(folder: PathBuf) -> Result<PathBuf, ServerError> {
    let quotable = |path: &Path| {
        path.to_str()
            .is_some_and(|path| !path.contains(['"', '\\', '\n']))
    };
    if quotable(&folder) {
        return Ok(folder);
    }
    // The folder is empty and a moment old; if it stays, it does no harm.
    let _ = fs::remove_dir(&folder);
    Err(ServerError::new(format!(
        "the temporary folder {} has a character in its name that a Redis configuration cannot \
         hold: set TMPDIR to another",
        folder.display()
    )))
}
