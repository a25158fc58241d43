//! A disk that is small, or read-only.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// A file system in memory, mounted on a folder. Dropping it takes it away: close its files before.
#[derive(Debug)]
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts a disk of this many MiB. Only the superuser can: for others it says so, and returns `None`.
    pub fn mount(folder: &Path, size: u32) -> Option<Self> {
        let is_mounted = mount(folder, &format!("size={size}m"));
        if !is_mounted {
            eprintln!("skipped: only the superuser mounts a small disk");
        }
        is_mounted.then(|| Self(folder.to_owned()))
    }

    /// Refuses writes from now on.
    ///
    /// # Panics
    ///
    /// If the system refuses, or a file is open for writing.
    pub fn make_read_only(&self) {
        assert!(mount(&self.0, "remount,ro"), "it cannot be read-only");
    }
}

fn mount(folder: &Path, options: &str) -> bool {
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]);
    let output = mount.arg(folder).output();
    output.is_ok_and(|output| output.status.success())
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).output();
    }
}
