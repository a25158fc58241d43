//! Repairing a damaged folder.
//!
//! Opening a folder is refused if the journal has other bytes than were written, because records are missing then. A
//! repair takes each queue back to its last state before the first missing record that may be its own. A queue whose
//! state was stored later loses nothing. [`look`] says what a repair would lose, and [`mend`] does it:
//!
//! ```no_run
//! # fn main() -> queue_core::Result<()> {
//! if let Some(damage) = queue_file::repair::look("/var/lib/shop/queues")? {
//!     for loss in &damage.losses {
//!         println!("{:?} loses {} records", loss.name, loss.records);
//!     }
//!     queue_file::repair::mend("/var/lib/shop/queues", &damage)?;
//! }
//! # Ok(())
//! # }
//! ```

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    io,
    path::Path,
    sync::Arc,
};

use queue_core::{Backend, Error, ErrorKind, QueueName, Removal, Result, Timestamp, call::Call};
use queue_memory::MemoryBackend;

use crate::{
    at_once::at_once,
    disk::{Disk, Folder},
    log::{Log, Pending},
    past_damage::{Gap, Segments},
    record::{self, Glance, Record},
    recovery::{Kept, Replay, Scan, with_name},
    segments::{Frame, SEGMENT},
};

/// The damage of a folder, and what a repair would lose.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// The places with other bytes than were written.
    pub places: Vec<Place>,
    /// The queues, and stores of once keys, that lose records.
    pub losses: Vec<Loss>,
    /// The number of queues and stores that lose nothing.
    pub whole: u64,
}

/// A place with other bytes than were written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// The name of the file.
    pub file: String,
    /// The first damaged byte of the file.
    pub byte: u64,
    /// The records that cannot be read. Nobody knows of which queues they are.
    pub records: u64,
}

/// The loss of a queue, or of a store of once keys.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// Its name. `None` if the name is lost as well: then nothing of the queue is left.
    pub name: Option<QueueName>,
    /// The time of the last record before the damage: the queue goes back to its state of this time.
    pub back_to: Timestamp,
    /// The records behind the damage that are dropped. A record is a call that changed the queue.
    pub records: u64,
    /// The messages that these records push.
    pub messages: u64,
}

/// Says what is damaged in a folder, and what a repair would lose; `None` if nothing is damaged. Changes nothing.
///
/// # Errors
///
/// `Configuration` if there are no queues at the path, if a process has the folder, or for another format; `Unavailable` if
/// the disk cannot be read.
pub fn look(path: impl AsRef<Path>) -> Result<Option<Damage>> {
    let folder = Folder::look(path.as_ref())?;
    folder.is_free()?;
    look_on_disk(&folder)
}

/// Repairs a folder that has this damage. The journal before the repair stays in the folder: its files get names that
/// end in `.damaged`.
///
/// A queue that went back gives ids again that it gave after the damage.
///
/// # Errors
///
/// As [`look`]; and `Configuration` if the damage is another one, `Unavailable` if the disk cannot be written, or has no
/// room for the queues once more. Repeat a repair that broke.
pub fn mend(path: impl AsRef<Path>, damage: &Damage) -> Result<()> {
    let folder = Folder::take(path.as_ref())?;
    let disk: Arc<dyn Disk> = Arc::new(folder);
    mend_on_disk(&disk, SEGMENT, damage)
}

/// [`look`] at a disk of your own.
///
/// # Errors
///
/// As [`look`].
#[doc(hidden)]
pub fn look_on_disk(disk: &dyn Disk) -> Result<Option<Damage>> {
    Ok(Salvage::of(disk)?.map(|salvage| salvage.damage))
}

/// [`mend`] on a disk of your own.
///
/// # Errors
///
/// As [`mend`].
#[doc(hidden)]
pub fn mend_on_disk(disk: &Arc<dyn Disk>, segment: u64, damage: &Damage) -> Result<()> {
    let salvage = Salvage::of(&**disk)?.filter(|salvage| salvage.damage == *damage);
    let salvage = salvage.ok_or_else(|| {
        let message = format!("{} has another damage by now: look again", disk.name());
        Error::new(ErrorKind::Configuration, message)
    })?;
    salvage.write(disk, segment).map_err(|error| {
        let message = format!("{} cannot be written", disk.name());
        Error::new(ErrorKind::Unavailable, message).with_source(error)
    })
}

/// The readable part of a damaged journal.
struct Salvage {
    segments: Segments,
    replay: Replay,
    /// The number behind the last record, and its time.
    next: u64,
    time: Timestamp,
    damage: Damage,
}

impl Salvage {
    /// Reads a journal. `None` if it is not damaged.
    fn of(disk: &dyn Disk) -> Result<Option<Self>> {
        let segments = Segments::of(disk)?;
        let mut scan = Scan::default();
        let mut parts = HashMap::new();
        let (mut first, mut last) = (None, Timestamp::default());
        let (mut gaps, next) = segments.walk(disk, |frame, gaps, (file, byte)| {
            first.get_or_insert((frame.number, file));
            if scan.note(frame, &mut parts).is_none() {
                let (from, to) = (frame.number, frame.number + 1);
                gaps.push(Gap {
                    file,
                    byte,
                    from,
                    to,
                    time: last,
                });
            }
            last = last.max(frame.time);
        })?;
        scan.from = scan.from.max(1);
        if let Some((first, file)) = first.filter(|(first, _)| *first > scan.from) {
            let missing = Gap {
                file,
                byte: 0,
                from: scan.from,
                to: first,
                time: Timestamp::default(),
            };
            gaps.insert(0, missing);
        }
        let mut losing = Losing {
            replay: Replay::new(MemoryBackend::starting_at(scan.time)),
            scan,
            gaps,
            lost: BTreeMap::new(),
        };
        let mut failure = Ok(());
        segments.walk(disk, |frame, _, place| {
            if failure.is_ok() {
                failure = losing.take(frame, place);
            }
        })?;
        failure?;
        let time = losing.scan.time;
        let (replay, damage) = losing.end();
        Ok((!damage.places.is_empty()).then_some(Self {
            segments,
            replay,
            next,
            time,
            damage,
        }))
    }

    /// Writes the queues into a new journal, and then puts the old one aside. After a crash between both steps the
    /// journal is still damaged, and the stored states are whole.
    fn write(self, disk: &Arc<dyn Disk>, segment: u64) -> io::Result<()> {
        let last = self.segments.files.last().map_or(0, |(file, _)| *file);
        let queues = VecDeque::new();
        let mut log = Log::begin(Arc::clone(disk), segment, queues, last + 1, self.next)?;
        let part = usize::try_from(segment / 64).unwrap_or(usize::MAX);
        let mut write = |content| {
            let time = self.time;
            log.write(&[Pending { time, content }]).map(drop)
        };
        for (number, thing) in &self.replay.things {
            let is_once = matches!(thing.kept, Kept::Once(_));
            let state = match is_once {
                true => self.replay.memory.save_once(&thing.name),
                false => self.replay.memory.save(&thing.name),
            };
            let state = state.map_err(io::Error::other)?.unwrap_or_default();
            let bytes = with_name(&thing.name, is_once, &state);
            let parts = bytes.len().div_ceil(part);
            for (place, bytes) in bytes.chunks(part).enumerate() {
                let (upto, is_last) = (self.next - 1, place + 1 == parts);
                write(record::part(*number, upto, place as u64, is_last, bytes))?;
            }
        }
        write(record::trim(self.next))?;
        log.sync()?;
        let (journal, spare) = self.segments.files.split_at(self.segments.end);
        journal
            .iter()
            .try_for_each(|(file, _)| disk.set_aside(*file))?;
        spare.iter().try_for_each(|(file, _)| disk.remove(*file))
    }
}

/// The queues as far as they can be played, and what they lose.
struct Losing {
    replay: Replay,
    scan: Scan,
    gaps: Vec<Gap>,
    /// The losses, by the numbers of the queues.
    lost: BTreeMap<u64, Loss>,
}

impl Losing {
    /// The first record that the queue needs. `None` if its first record is missing.
    fn first_needed(&self, queue: u64) -> Option<u64> {
        let stored = self.scan.states.get(&queue).map(|(from, _)| *from);
        stored.or_else(|| self.replay.things.get(&queue).map(|thing| thing.first))
    }

    /// The time before the first gap behind this record, if there is a gap before `number`.
    fn gap(&self, from: u64, number: u64) -> Option<Timestamp> {
        let mut gaps = self.gaps.iter();
        let gap = gaps.find(|gap| gap.from < gap.to && from < gap.to && gap.to <= number);
        gap.map(|gap| gap.time)
    }

    fn lose(&mut self, queue: u64, back_to: Timestamp) -> &mut Loss {
        self.lost.entry(queue).or_insert(Loss {
            name: None,
            back_to,
            records: 0,
            messages: 0,
        })
    }

    /// Plays a record, or counts it as lost. A record that cannot be played is a damaged place, and its queue ends there.
    fn take(&mut self, frame: &Frame<'_>, (file, byte): (u64, usize)) -> Result<()> {
        let (queue, is_part) = match record::glance(frame.content) {
            Some(Glance::Part { queue, .. }) => (queue, true),
            Some(Glance::Other(queue)) => (queue, false),
            _ => return Ok(()),
        };
        if frame.number < self.scan.from || self.scan.removed.contains(&queue) {
            return Ok(());
        }
        let read = record::read(frame.content).map(|(_, record)| record);
        let needed = self.first_needed(queue);
        let gap = match (needed, &read) {
            // A state may be stored behind the damage.
            (Some(_), _) if is_part => None,
            (Some(needed), _) if frame.number < needed => return Ok(()),
            (Some(needed), _) => self.gap(needed, frame.number),
            (None, Some(Record::Open(name, _))) => {
                self.replace(name, false)?;
                None
            }
            (None, Some(Record::OpenOnce(name))) => {
                self.replace(name, true)?;
                None
            }
            (None, _) => Some(Timestamp::default()),
        };
        let is_lost = self.lost.contains_key(&queue) && !is_part;
        if gap.is_none() && !is_lost && self.scan.play(&mut self.replay, frame).is_ok() {
            return Ok(());
        }
        if gap.is_none() && !is_lost {
            let (from, to, time) = (frame.number, frame.number, frame.time);
            self.gaps.push(Gap {
                file,
                byte,
                from,
                to,
                time,
            });
        }
        let loss = self.lose(queue, gap.unwrap_or(frame.time));
        if !is_part {
            loss.records += 1;
        }
        loss.messages += match &read {
            Some(Record::Call(Call::Push(messages))) => messages.len() as u64,
            Some(Record::Call(Call::Insert(items))) => items.len() as u64,
            _ => 0,
        };
        Ok(())
    }

    /// A queue of this name was removed by a record that is missing, if there is one still.
    fn replace(&mut self, name: &QueueName, is_once: bool) -> Result<()> {
        let mut things = self.replay.things.iter();
        let old = things.find(|(_, thing)| {
            thing.name == *name && matches!(thing.kept, Kept::Once(_)) == is_once
        });
        if let Some(number) = old.map(|(number, _)| *number) {
            self.replay.things.remove(&number);
            self.lost.remove(&number);
            if !is_once {
                at_once(self.replay.memory.remove(name, Removal::EvenIfLeased))?;
            }
        }
        Ok(())
    }

    fn end(mut self) -> (Replay, Damage) {
        // Of two queues of a name the later one is there: a record that is missing removed the earlier one.
        let names = self.replay.things.iter().map(|(number, thing)| {
            let is_once = matches!(thing.kept, Kept::Once(_));
            ((is_once, thing.name.clone()), *number)
        });
        let numbers: BTreeMap<_, u64> = names.collect();
        let numbers: BTreeSet<u64> = numbers.into_values().collect();
        self.replay.things.retain(|number, _| {
            let stays = numbers.contains(number);
            if !stays {
                self.lost.remove(number);
            }
            stays
        });
        let mut whole = 0;
        for number in numbers {
            // A missing record at the end may be its own, too.
            let needed = self.first_needed(number).unwrap_or_default();
            let gap = self.gap(needed, u64::MAX);
            if gap.is_none() && !self.lost.contains_key(&number) {
                whole += 1;
                continue;
            }
            let name = self.replay.things[&number].name.clone();
            self.lose(number, gap.unwrap_or_default()).name = Some(name);
        }
        let place = |gap: &Gap| Place {
            file: format!("journal-{:012}", gap.file),
            byte: gap.byte as u64,
            records: gap.to - gap.from,
        };
        let damage = Damage {
            places: self.gaps.iter().map(place).collect(),
            losses: self.lost.into_values().collect(),
            whole,
        };
        (self.replay, damage)
    }
}
