//! A disk in memory that crashes, loses and tears what was not synced, fails and fills up, as a test wants.
//!
//! ```
//! use std::{sync::Arc, time::Duration};
//! use queue_core::{Queues, Reliable};
//! use queue_file::{FileBackend, SyncMode, simulated::SimulatedDisk};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> queue_core::Result<()> {
//! let disk = SimulatedDisk::new(7);
//! let queues = Queues::new(FileBackend::on_disk(Arc::new(disk.clone()), SyncMode::Always)?);
//! let orders: Reliable<u32> = queues.reliable("orders").open().await?;
//! orders.push(&1).await?;
//!
//! // The power fails, and comes back.
//! let disk = disk.restart();
//! assert!(orders.push(&2).await.is_err());
//! let queues = Queues::new(FileBackend::on_disk(Arc::new(disk), SyncMode::Always)?);
//! let orders: Reliable<u32> = queues.reliable("orders").open().await?;
//! assert_eq!(orders.queue().depth().await?.ready, 1);
//! # Ok(())
//! # }
//! ```

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::disk::Disk;

/// A sector: a write is done or lost in units of this, in any order.
const SECTOR: usize = 512;

/// A simulated disk. Clones are the same disk.
#[derive(Debug, Clone)]
pub struct SimulatedDisk(Arc<Mutex<Platter>>);

#[derive(Debug, Clone, Default)]
struct Platter {
    files: BTreeMap<u64, SimulatedFile>,
    aside: BTreeMap<u64, Vec<u8>>,
    random: u64,
    /// The number of operations that change the disk.
    operations: u64,
    /// The operation in which the power fails.
    crash: Option<u64>,
    /// The sync that fails.
    failing_sync: Option<u64>,
    syncs: u64,
    room: Option<u64>,
    is_off: bool,
}

/// The zeros at the end of a file are not stored.
#[derive(Debug, Clone, Default)]
struct SimulatedFile {
    length: u64,
    /// What a reader sees.
    seen: Vec<u8>,
    durable: Vec<u8>,
    /// What was written and not synced.
    pending: Vec<(usize, Vec<u8>)>,
}

fn put(bytes: &mut Vec<u8>, place: usize, part: &[u8]) {
    let end = place + part.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[place..end].copy_from_slice(part);
}

fn off() -> io::Error {
    io::Error::other("the power is off")
}

impl Platter {
    fn next(&mut self) -> u64 {
        // As SplitMix64.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn coin(&mut self) -> bool {
        self.next().is_multiple_of(2)
    }

    /// Counts an operation. Returns true if the power fails in it.
    fn step(&mut self) -> io::Result<bool> {
        if self.is_off {
            return Err(off());
        }
        self.operations += 1;
        self.is_off = self.crash.is_some_and(|crash| self.operations >= crash);
        Ok(self.is_off)
    }

    fn file(&mut self, file: u64) -> io::Result<&mut SimulatedFile> {
        let found = self.files.get_mut(&file);
        found.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Decides what is left of everything that was not synced.
    fn lose(&mut self) {
        let mut files = std::mem::take(&mut self.files);
        for file in files.values_mut() {
            for (place, bytes) in std::mem::take(&mut file.pending) {
                let mut done = 0;
                while done < bytes.len() {
                    let sector = SECTOR - (place + done) % SECTOR;
                    let end = bytes.len().min(done + sector);
                    if self.coin() {
                        put(&mut file.durable, place + done, &bytes[done..end]);
                    }
                    done = end;
                }
            }
            file.seen = file.durable.clone();
        }
        self.files = files;
    }
}

impl SimulatedDisk {
    /// An empty disk. The seed decides which parts of unsynced writes a crash loses.
    pub fn new(seed: u64) -> Self {
        let platter = Platter {
            random: seed,
            ..Platter::default()
        };
        Self(Arc::new(Mutex::new(platter)))
    }

    fn platter(&self) -> MutexGuard<'_, Platter> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The disk after a loss of power now, or at the crash that [`crash_at`](Self::crash_at) planned. This disk is off.
    #[must_use]
    pub fn restart(&self) -> Self {
        let mut platter = self.platter();
        platter.is_off = true;
        let mut after = platter.clone();
        drop(platter);
        after.lose();
        (after.is_off, after.crash, after.failing_sync) = (false, None, None);
        Self(Arc::new(Mutex::new(after)))
    }

    /// How many operations have changed the disk so far.
    pub fn operations(&self) -> u64 {
        self.platter().operations
    }

    /// Lets the power fail in this operation: it may be done, in part or not.
    pub fn crash_at(&self, operation: u64) {
        self.platter().crash = Some(operation);
    }

    /// Whether the power has failed.
    pub fn is_off(&self) -> bool {
        self.platter().is_off
    }

    /// Lets the sync after the next `syncs` ones fail. What was written before it is lost, though a later sync does not
    /// fail: as operating systems do.
    pub fn fail_sync_after(&self, syncs: u64) {
        let mut platter = self.platter();
        platter.failing_sync = Some(platter.syncs + syncs + 1);
    }

    /// Gives the disk room for this many bytes, or without limit.
    pub fn set_room(&self, bytes: Option<u64>) {
        self.platter().room = bytes;
    }

    /// The bytes that the files take.
    pub fn used(&self) -> u64 {
        self.platter().files.values().map(|file| file.length).sum()
    }

    /// The files, and how many bytes were written to each.
    pub fn written(&self) -> Vec<(u64, usize)> {
        let platter = self.platter();
        let files = platter.files.iter();
        files
            .map(|(file, content)| (*file, content.seen.len()))
            .collect()
    }

    /// The bytes of files that a repair put aside.
    pub fn aside(&self) -> BTreeMap<u64, Vec<u8>> {
        self.platter().aside.clone()
    }

    /// Flips a bit of a file.
    ///
    /// # Panics
    ///
    /// If there is no such file, or nothing was written at this place.
    pub fn flip(&self, file: u64, place: usize, bit: u8) {
        let mut platter = self.platter();
        let file = platter.files.get_mut(&file).expect("there is such a file");
        file.durable[place] ^= 1 << bit;
        file.seen[place] ^= 1 << bit;
    }
}

impl Disk for SimulatedDisk {
    fn files(&self) -> io::Result<Vec<u64>> {
        let platter = self.platter();
        match platter.is_off {
            true => Err(off()),
            false => Ok(platter.files.keys().copied().collect()),
        }
    }

    fn read(&self, file: u64, length: u64) -> io::Result<Vec<u8>> {
        let mut platter = self.platter();
        if platter.is_off {
            return Err(off());
        }
        let seen = &platter.file(file)?.seen;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        Ok(seen[..length.min(seen.len())].to_vec())
    }

    fn create(&self, file: u64, length: u64) -> io::Result<()> {
        let mut platter = self.platter();
        let crashes = platter.step()?;
        let used: u64 = platter.files.values().map(|file| file.length).sum();
        if platter.room.is_some_and(|room| used + length > room) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let made = SimulatedFile {
            length,
            ..SimulatedFile::default()
        };
        if !crashes || platter.coin() {
            platter.files.insert(file, made);
        }
        if crashes { Err(off()) } else { Ok(()) }
    }

    fn write(&self, file: u64, place: u64, bytes: &[u8]) -> io::Result<()> {
        let mut platter = self.platter();
        let crashes = platter.step()?;
        let file = platter.file(file)?;
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        put(&mut file.seen, place, bytes);
        file.pending.push((place, bytes.to_vec()));
        if crashes { Err(off()) } else { Ok(()) }
    }

    fn sync(&self, file: u64) -> io::Result<()> {
        let mut platter = self.platter();
        if platter.step()? {
            return Err(off());
        }
        platter.syncs += 1;
        let fails = platter.failing_sync == Some(platter.syncs);
        let file = platter.file(file)?;
        let pending = std::mem::take(&mut file.pending);
        if fails {
            return Err(io::Error::other("an error of the device"));
        }
        for (place, bytes) in pending {
            put(&mut file.durable, place, &bytes);
        }
        Ok(())
    }

    fn cut(&self, file: u64, length: u64) -> io::Result<()> {
        let mut platter = self.platter();
        let crashes = platter.step()?;
        let is_cut = !crashes || platter.coin();
        let file = platter.file(file)?;
        if is_cut {
            let end = usize::try_from(length).unwrap_or(usize::MAX);
            file.length = length;
            file.seen.truncate(end);
            file.durable.truncate(end);
        }
        if crashes { Err(off()) } else { Ok(()) }
    }

    fn remove(&self, file: u64) -> io::Result<()> {
        let mut platter = self.platter();
        let crashes = platter.step()?;
        if !crashes || platter.coin() {
            platter.files.remove(&file);
        }
        if crashes { Err(off()) } else { Ok(()) }
    }

    fn set_aside(&self, file: u64) -> io::Result<()> {
        let mut platter = self.platter();
        let crashes = platter.step()?;
        if !crashes || platter.coin() {
            let moved = platter.files.remove(&file);
            let moved = moved.ok_or(io::ErrorKind::NotFound)?;
            platter.aside.insert(file, moved.seen);
        }
        if crashes { Err(off()) } else { Ok(()) }
    }

    fn free(&self) -> io::Result<u64> {
        let room = self.platter().room.unwrap_or(u64::MAX);
        Ok(room.saturating_sub(self.used()))
    }

    fn name(&self) -> String {
        "the simulated disk".to_owned()
    }
}
