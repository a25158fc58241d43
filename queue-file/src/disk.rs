//! The disk: what the journal asks of a folder of files.

use std::{
    fmt::Debug,
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind as Io, Read, Write},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use queue_core::{Error, ErrorKind, FolderFacts, Result, SyncFacts};
use rustix::fs::{FallocateFlags, FlockOperation};

use crate::{segments::FORMAT, sync_times};

/// A folder of numbered files. Nothing is durable before a `sync`: a crash may lose it, or a part of it, in any order.
pub trait Disk: Debug + Send + Sync + 'static {
    /// The numbers of the files, in order.
    ///
    /// # Errors
    ///
    /// The error of the operating system, here and in the other methods.
    fn files(&self) -> io::Result<Vec<u64>>;

    /// The first bytes of a file, at most this many.
    fn read(&self, file: u64, length: u64) -> io::Result<Vec<u8>>;

    /// Makes a file of this many zeros, in place of any file of this number, and takes their room from the disk. A write
    /// to it never fails for want of room.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::StorageFull`](io::ErrorKind::StorageFull) if the disk has no room, and others; then there is no such
    /// file.
    fn create(&self, file: u64, length: u64) -> io::Result<()>;

    /// Writes within a file.
    fn write(&self, file: u64, place: u64, bytes: &[u8]) -> io::Result<()>;

    /// Makes all earlier writes to a file durable. After an error nobody knows which writes are.
    fn sync(&self, file: u64) -> io::Result<()>;

    /// Cuts a file to this length.
    fn cut(&self, file: u64, length: u64) -> io::Result<()>;

    /// Removes a file, durably.
    fn remove(&self, file: u64) -> io::Result<()>;

    /// Removes a file from the journal, durably, and keeps its bytes for people.
    fn set_aside(&self, file: u64) -> io::Result<()>;

    /// The bytes that are free for new files.
    fn free(&self) -> io::Result<u64>;

    /// Shows other processes how long the last syncs took. By default nobody sees it.
    fn show_syncs(&self, _syncs: &SyncFacts) {}

    /// The name of the folder, for errors.
    fn name(&self) -> String;
}

const LOCK: &str = "lock";
/// The time for which an open tries to get the lock. A look holds the lock for an instant, and an open must not fail for
/// that.
const PATIENCE: Duration = Duration::from_millis(100);
const MARKER: &str = "queue-kit.format";

/// A folder of the operating system.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// The open files that were written last: the journal writes to one at a time.
    open: Mutex<Vec<(u64, Arc<File>)>>,
    /// The lock, while this process owns the folder.
    lock: Option<File>,
}

impl Folder {
    /// Opens a folder as its only owner; makes it if there is none.
    pub(crate) fn own(path: &Path) -> Result<Self> {
        match fs::metadata(path) {
            Ok(found) if !found.is_dir() => {
                return Err(refused(path, "is a file: name a folder for the queues"));
            }
            Ok(_) => {}
            Err(error) if error.kind() == Io::NotFound => {
                fs::create_dir(path).map_err(|error| failed(path, "cannot be made", error))?;
            }
            Err(error) => return Err(failed(path, "cannot be read", error)),
        }
        let is_new = check_marker(path)?;
        let lock = lock(path)?;
        if is_new {
            let marker = format!("queues of queue-kit, format {FORMAT}\n");
            let written = write_durably(&path.join(MARKER), marker.as_bytes());
            written.map_err(|error| failed(path, "cannot be written", error))?;
        }
        let folder = Self::at(path, Some(lock));
        let synced = folder.sync_names();
        synced.map_err(|error| failed(path, "cannot be synced", error))?;
        Ok(folder)
    }

    /// Reads a folder that another process may own.
    pub(crate) fn look(path: &Path) -> Result<Self> {
        match check_marker(path) {
            Ok(false) => Ok(Self::at(path, None)),
            Ok(true) => Err(refused(path, "has no queues in it")),
            Err(error) => Err(error),
        }
    }

    /// Takes a folder that has queues.
    pub(crate) fn take(path: &Path) -> Result<Self> {
        Self::look(path)?;
        Ok(Self::at(path, Some(lock(path)?)))
    }

    /// Fails if a process has the folder.
    pub(crate) fn is_free(&self) -> Result<()> {
        let found = self.owner();
        match found.held {
            true => Err(belongs_to(&self.path, found.owner)),
            false => Ok(()),
        }
    }

    /// The process that has the folder, or had it last, and how long its syncs took.
    pub(crate) fn owner(&self) -> FolderFacts {
        let Ok(mut lock) = File::open(self.path.join(LOCK)) else {
            return FolderFacts::default();
        };
        let taken = try_lock(&lock, FlockOperation::NonBlockingLockShared);
        let mut facts = read_owner(&mut lock);
        facts.held = matches!(taken, Ok(false));
        facts
    }

    fn at(path: &Path, lock: Option<File>) -> Self {
        Self {
            path: path.to_owned(),
            open: Mutex::default(),
            lock,
        }
    }

    fn path(&self, file: u64) -> PathBuf {
        self.path.join(format!("journal-{file:012}"))
    }

    fn open(&self, file: u64) -> io::Result<Arc<File>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, opened)) = open.iter().find(|(number, _)| *number == file) {
            return Ok(Arc::clone(opened));
        }
        let opened = OpenOptions::new().write(true).open(self.path(file))?;
        open.truncate(1);
        open.insert(0, (file, Arc::new(opened)));
        Ok(Arc::clone(&open[0].1))
    }

    fn close(&self, file: u64) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|(number, _)| *number != file);
    }

    fn sync_names(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }
}

fn write_durably(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Checks that the folder is ours. Returns true if it is empty.
fn check_marker(path: &Path) -> Result<bool> {
    let text = match fs::read_to_string(path.join(MARKER)) {
        Ok(text) => text,
        Err(error) if error.kind() == Io::NotFound => {
            let entries = fs::read_dir(path);
            let entries = entries.map_err(|error| failed(path, "cannot be read", error))?;
            let foreign = entries.flatten().find(|entry| entry.file_name() != LOCK);
            return match foreign {
                None => Ok(true),
                Some(foreign) => {
                    let name = foreign.file_name();
                    let why = format!(
                        "has files of another program ({}): name an empty folder",
                        name.display()
                    );
                    Err(refused(path, &why))
                }
            };
        }
        Err(error) => return Err(failed(path, "cannot be read", error)),
    };
    let format = text.trim_end().rsplit(' ').next().unwrap_or_default();
    if format == FORMAT.to_string() {
        return Ok(false);
    }
    let why = format!("has the format {format}, and this version reads {FORMAT}");
    Err(refused(path, &why))
}

fn lock(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    let opened = options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path.join(LOCK));
    let mut lock = opened.map_err(|error| failed(path, "cannot be written", error))?;
    let begun = Instant::now();
    let mut taken = try_lock(&lock, FlockOperation::NonBlockingLockExclusive);
    while matches!(taken, Ok(false)) && begun.elapsed() < PATIENCE {
        std::thread::sleep(PATIENCE / 10);
        taken = try_lock(&lock, FlockOperation::NonBlockingLockExclusive);
    }
    planted!(LockIsNotHeld => taken = Ok(true));
    match taken {
        Ok(true) => {}
        Ok(false) => return Err(belongs_to(path, read_owner(&mut lock).owner)),
        Err(error) => {
            return Err(failed(path, "is on a file system without locks", error));
        }
    }
    let named = lock
        .set_len(0)
        .and_then(|()| lock.write_all_at(format!("{}\n", std::process::id()).as_bytes(), 0));
    named.map_err(|error| failed(path, "cannot be written", error))?;
    Ok(lock)
}

/// Takes the lock. Returns false if another process has it.
fn try_lock(lock: &File, operation: FlockOperation) -> io::Result<bool> {
    match rustix::fs::flock(lock, operation) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The process that has the folder, or had it last, and how long its syncs took.
fn read_owner(lock: &mut File) -> FolderFacts {
    let mut text = String::new();
    // An owner of whom nothing can be read is unknown.
    let _ = lock.read_to_string(&mut text);
    let mut lines = text.lines();
    let mut facts = FolderFacts::default();
    facts.owner = lines.next().and_then(|line| line.trim().parse().ok());
    facts.syncs = lines.next().and_then(sync_times::read);
    facts
}

fn belongs_to(path: &Path, owner: Option<u32>) -> Error {
    let owner = match owner {
        Some(owner) => format!("the process {owner}"),
        None => "another process".to_owned(),
    };
    let why = format!(
        "belongs to {owner}: one process at a time has the queues of a folder, so stop that process first, or act on \
         the page `queue_ops::web` in it"
    );
    refused(path, &why)
}

fn refused(path: &Path, why: &str) -> Error {
    let message = format!("the folder {} {why}", path.display());
    Error::new(ErrorKind::Configuration, message)
}

fn failed(path: &Path, what: &str, error: io::Error) -> Error {
    refused(path, what).with_source(error)
}

impl Disk for Folder {
    fn files(&self) -> io::Result<Vec<u64>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let name = entry?.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix("journal-"));
            files.extend(number.and_then(|number| number.parse::<u64>().ok()));
        }
        files.sort_unstable();
        Ok(files)
    }

    fn read(&self, file: u64, length: u64) -> io::Result<Vec<u8>> {
        let file = File::open(self.path(file))?;
        let length = length.min(file.metadata()?.len());
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
        file.take(length).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn create(&self, file: u64, length: u64) -> io::Result<()> {
        let path = self.path(file);
        self.close(file);
        let made = (|| {
            let made = File::create(&path)?;
            match rustix::fs::fallocate(&made, FallocateFlags::empty(), 0, length) {
                // The file system cannot: a write may then fail for want of room, and ends the handle.
                Err(rustix::io::Errno::OPNOTSUPP) => made.set_len(length)?,
                allocated => allocated?,
            }
            made.sync_all()?;
            self.sync_names()
        })();
        if made.is_err() {
            let _ = fs::remove_file(&path);
        }
        made
    }

    fn write(&self, file: u64, place: u64, bytes: &[u8]) -> io::Result<()> {
        self.open(file)?.write_all_at(bytes, place)
    }

    fn sync(&self, file: u64) -> io::Result<()> {
        self.open(file)?.sync_data()
    }

    fn cut(&self, file: u64, length: u64) -> io::Result<()> {
        self.open(file)?.set_len(length)
    }

    fn remove(&self, file: u64) -> io::Result<()> {
        self.close(file);
        fs::remove_file(self.path(file))?;
        self.sync_names()
    }

    fn set_aside(&self, file: u64) -> io::Result<()> {
        self.close(file);
        let path = self.path(file);
        fs::rename(&path, path.with_extension("damaged"))?;
        self.sync_names()
    }

    fn free(&self) -> io::Result<u64> {
        let found = rustix::fs::statvfs(&self.path)?;
        Ok(found.f_bavail.saturating_mul(found.f_frsize))
    }

    fn show_syncs(&self, syncs: &SyncFacts) {
        if let Some(lock) = &self.lock {
            let text = format!("{}\n{}", std::process::id(), sync_times::line(syncs));
            // A look that fails to read this knows less.
            let _ = lock.write_all_at(text.as_bytes(), 0);
        }
    }

    fn name(&self) -> String {
        format!("the folder {}", self.path.display())
    }
}
