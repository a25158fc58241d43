//! Reading a journal back: first which records count, then their effect.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    io,
};

use queue_core::{
    AnyQueue, Backend, Error, ErrorKind, OnceStore, QueueConfig, QueueName, Removal, Result,
    Timestamp, limits,
};
use queue_memory::{MemoryBackend, journal};

use crate::{
    at_once::at_once,
    disk::Disk,
    log::Segment,
    record::{self, Glance, OnceCall, Part, Record},
    segments::{
        FORMAT, Frame, HEADER, Start, first_without_header, frame_at, read_header, was_durable,
    },
};

/// The records that count.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    pub(crate) segments: Vec<Segment>,
    /// Files without a record: a crash came before their first one.
    pub(crate) unwritten: Vec<u64>,
    pub(crate) next_file: u64,
    /// Records below this number count no more.
    pub(crate) from: u64,
    /// The number behind the last record.
    pub(crate) next: u64,
    /// The time of the last record.
    pub(crate) time: Timestamp,
    /// The complete stored state of each queue: the first record that is not in it, and its size.
    pub(crate) states: BTreeMap<u64, (u64, u64)>,
    pub(crate) removed: BTreeSet<u64>,
    /// The bytes of each queue's records.
    bytes: BTreeMap<u64, u64>,
}

/// A queue or a store that the journal has.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) number: u64,
    pub(crate) name: QueueName,
    pub(crate) is_once: bool,
    /// The first record that it needs.
    pub(crate) from: u64,
    pub(crate) last: u64,
    pub(crate) has_state: bool,
    pub(crate) bytes: u64,
}

pub(crate) fn failed(disk: &dyn Disk, error: io::Error) -> Error {
    let message = format!("{} cannot be read", disk.name());
    Error::new(ErrorKind::Unavailable, message).with_source(error)
}

fn damaged(disk: &dyn Disk, file: u64, place: usize, what: &str) -> Error {
    let message = format!(
        "{} is damaged: in journal-{file:012}, at byte {place}, {what}. Nothing was changed. Restore the folder \
         from a backup; or `qk repair` says what a repair would lose",
        disk.name()
    );
    Error::new(ErrorKind::Configuration, message)
}

/// Calls `each` with the records of a segment. Returns the number and the place behind the last record.
fn records(
    disk: &dyn Disk,
    file: u64,
    first: u64,
    end: Option<u64>,
    mut each: impl FnMut(&Frame<'_>, usize) -> Result<()>,
) -> Result<(u64, usize)> {
    let bytes = disk
        .read(file, u64::MAX)
        .map_err(|error| failed(disk, error))?;
    let (mut number, mut place) = (first, HEADER);
    while end.is_none_or(|end| number < end) {
        let Some((frame, behind)) = frame_at(&bytes, place, number) else {
            break;
        };
        each(&frame, place)?;
        (number, place) = (number + 1, behind);
    }
    let is_whole = match end {
        Some(end) => number == end,
        None => !was_durable(&bytes, place, number),
    };
    if !is_whole {
        let what = format!("the record {number} has other bytes than were written");
        return Err(damaged(disk, file, place, &what));
    }
    Ok((number, place))
}

impl Scan {
    /// Reads all segments.
    pub(crate) fn of(disk: &dyn Disk) -> Result<Self> {
        let mut scan = Self {
            from: 1,
            next: 1,
            next_file: 1,
            ..Self::default()
        };
        let mut started: Vec<(u64, u64)> = Vec::new();
        let no_header = |file| {
            let what = "the header of the segment has other bytes than were written";
            damaged(disk, file, 0, what)
        };
        for file in disk.files().map_err(|error| failed(disk, error))? {
            let bytes = disk.read(file, HEADER as u64);
            let bytes = bytes.map_err(|error| failed(disk, error))?;
            match read_header(&bytes) {
                Start::Segment(first) => {
                    if let Some(unwritten) = scan.unwritten.first() {
                        return Err(no_header(*unwritten));
                    }
                    started.push((file, first));
                }
                Start::Format(other) => {
                    let message = format!(
                        "{} has the format {other}, and this version reads {FORMAT}",
                        disk.name()
                    );
                    return Err(Error::new(ErrorKind::Configuration, message));
                }
                Start::Unwritten => scan.unwritten.push(file),
            }
            scan.next_file = file + 1;
        }
        for file in &scan.unwritten {
            let bytes = disk.read(*file, u64::MAX);
            let bytes = bytes.map_err(|error| failed(disk, error))?;
            if first_without_header(&bytes).is_some() {
                return Err(no_header(*file));
            }
        }
        let ends = started.iter().skip(1).map(|(_, first)| Some(*first));
        let ends: Vec<_> = ends.chain([None]).collect();
        let mut parts = HashMap::new();
        for ((file, first), end) in started.into_iter().zip(ends) {
            let note = |frame: &Frame<'_>, place: usize| {
                let noted = scan.note(frame, &mut parts);
                noted.ok_or_else(|| damaged(disk, file, place, "a record is none of this format"))
            };
            let (next, place) = records(disk, file, first, end, note)?;
            scan.next = next;
            let length = place as u64;
            scan.segments.push(Segment {
                file,
                first,
                next,
                length,
            });
        }
        let is_missing = scan
            .segments
            .first()
            .is_some_and(|first| first.first > scan.from);
        if is_missing {
            let file = scan.segments[0].file;
            let what = format!("the records from {} on are missing before it", scan.from);
            return Err(damaged(disk, file, 0, &what));
        }
        Ok(scan)
    }

    /// A number that no queue has had.
    pub(crate) fn next_queue(&self) -> u64 {
        let numbers = self
            .bytes
            .keys()
            .chain(&self.removed)
            .chain(self.states.keys());
        numbers.max().map_or(1, |last| last + 1)
    }

    pub(crate) fn note(
        &mut self,
        frame: &Frame<'_>,
        parts: &mut HashMap<u64, (u64, u64, u64)>,
    ) -> Option<()> {
        self.time = self.time.max(frame.time);
        let length = frame.content.len() as u64;
        match record::glance(frame.content)? {
            Glance::Trim(from) => self.from = self.from.max(from),
            Glance::Removed(queue) => {
                self.removed.insert(queue);
                self.states.remove(&queue);
            }
            Glance::Part {
                queue,
                upto,
                number,
                is_last,
            } => {
                let part = parts.entry(queue).or_insert((upto, 0, 0));
                if number == 0 {
                    *part = (upto, 0, 0);
                }
                // A state that was begun again, or cut off.
                if (part.0, part.1) != (upto, number) {
                    *part = (u64::MAX, 0, 0);
                    return Some(());
                }
                (part.1, part.2) = (number + 1, part.2 + length);
                if is_last {
                    self.states.insert(queue, (upto + 1, part.2));
                    self.bytes.insert(queue, part.2);
                }
            }
            Glance::Other(queue) => *self.bytes.entry(queue).or_default() += length,
        }
        Some(())
    }

    /// Plays all records that count.
    pub(crate) fn replay(
        &self,
        disk: &dyn Disk,
        memory: MemoryBackend,
    ) -> Result<(MemoryBackend, Vec<Found>)> {
        let mut replay = Replay::new(memory);
        for segment in &self.segments {
            let play = |frame: &Frame<'_>, place: usize| {
                if frame.number < self.from {
                    return Ok(());
                }
                self.play(&mut replay, frame).map_err(|error| {
                    let what = format!("the record {} cannot be played again", frame.number);
                    damaged(disk, segment.file, place, &what).with_source(error)
                })
            };
            records(disk, segment.file, segment.first, Some(segment.next), play)?;
        }
        let found = replay.things.into_iter().map(|(number, thing)| Found {
            number,
            name: thing.name,
            is_once: matches!(thing.kept, Kept::Once(_)),
            from: self
                .states
                .get(&number)
                .map_or(thing.first, |(from, _)| *from),
            last: thing.last,
            has_state: self.states.contains_key(&number),
            bytes: self.bytes.get(&number).copied().unwrap_or_default(),
        });
        Ok((replay.memory, found.collect()))
    }

    pub(crate) fn play(&self, replay: &mut Replay, frame: &Frame<'_>) -> Result<()> {
        let unread = || Error::new(ErrorKind::Internal, "a record is none of this format");
        let queue = match record::glance(frame.content).ok_or_else(unread)? {
            Glance::Trim(_) | Glance::Removed(_) => return Ok(()),
            Glance::Part { queue, .. } | Glance::Other(queue) => queue,
        };
        if self.removed.contains(&queue) {
            return Ok(());
        }
        let state = self.states.get(&queue).map(|(from, _)| *from);
        let (_, record) = record::read(frame.content).ok_or_else(unread)?;
        match record {
            Record::Part(part) => match state {
                Some(from) if part.upto + 1 == from => replay.part(queue, frame.number, &part),
                // Another state has taken its place, or it is not complete.
                _ => Ok(()),
            },
            _ if state.is_some_and(|from| frame.number < from) => Ok(()),
            record => replay.record(queue, frame, record, state.is_some()),
        }
    }
}

/// Reads the state of one queue, up to the record `upto`, from these segments, as bytes.
pub(crate) fn state_at(
    disk: &dyn Disk,
    segments: &[Segment],
    queue: u64,
    upto: u64,
) -> Result<Vec<u8>> {
    let mut scan = Scan::default();
    let mut parts = HashMap::new();
    let each =
        |play: &mut dyn FnMut(&Frame<'_>) -> Result<()>| {
            for segment in segments.iter().filter(|segment| segment.first <= upto) {
                let end = segment.next.min(upto + 1);
                records(disk, segment.file, segment.first, Some(end), |frame, _| {
                    match record::glance(frame.content) {
                        Some(Glance::Part { queue: of, .. } | Glance::Other(of)) if of == queue => {
                            play(frame)
                        }
                        _ => Ok(()),
                    }
                })?;
            }
            Ok(())
        };
    each(&mut |frame| {
        scan.note(frame, &mut parts);
        Ok(())
    })?;
    planted!(StateDropsARecord => upto = upto.saturating_sub(1));
    let mut replay = Replay::new(MemoryBackend::starting_at(scan.time));
    each(&mut |frame| match frame.number <= upto {
        true => scan.play(&mut replay, frame),
        false => Ok(()),
    })?;
    let gone = || Error::new(ErrorKind::Internal, "a queue without records");
    let thing = replay.things.get(&queue).ok_or_else(gone)?;
    let state = match thing.kept {
        Kept::Queue(_) => replay.memory.save(&thing.name)?,
        Kept::Once(_) => replay.memory.save_once(&thing.name)?,
    };
    state.ok_or_else(gone)
}

/// The bytes of a stored state: what it is of, and the state.
pub(crate) fn with_name(name: &QueueName, is_once: bool, state: &[u8]) -> Vec<u8> {
    use journal::Coded;

    let mut bytes = Vec::with_capacity(state.len() + 140);
    name.put(&mut bytes);
    is_once.put(&mut bytes);
    bytes.extend_from_slice(state);
    bytes
}

/// Queues as far as they were played.
pub(crate) struct Replay {
    pub(crate) memory: MemoryBackend,
    pub(crate) things: BTreeMap<u64, Thing>,
    /// States that are not complete yet, and the calls that come after them.
    awaited: HashMap<u64, Awaited>,
}

pub(crate) struct Thing {
    pub(crate) name: QueueName,
    pub(crate) kept: Kept,
    pub(crate) first: u64,
    last: u64,
}

pub(crate) enum Kept {
    Queue(AnyQueue),
    Once(std::sync::Arc<dyn OnceStore>),
}

#[derive(Default)]
struct Awaited {
    state: Vec<u8>,
    calls: Vec<(u64, Timestamp, Record)>,
}

fn without(what: &str) -> Error {
    Error::new(ErrorKind::Internal, format!("it has no {what} before it"))
}

impl Replay {
    pub(crate) fn new(memory: MemoryBackend) -> Self {
        Self {
            memory,
            things: BTreeMap::new(),
            awaited: HashMap::new(),
        }
    }

    fn add(&mut self, queue: u64, name: QueueName, kept: Kept, first: u64) {
        let thing = Thing {
            name,
            kept,
            first,
            last: first,
        };
        self.things.insert(queue, thing);
    }

    fn part(&mut self, queue: u64, number: u64, part: &Part) -> Result<()> {
        let awaited = self.awaited.entry(queue).or_default();
        awaited.state.extend_from_slice(&part.bytes);
        if !part.is_last {
            return Ok(());
        }
        let Awaited { state, calls } = self.awaited.remove(&queue).unwrap_or_default();
        self.restore(queue, &state, number)?;
        for (number, time, record) in calls {
            self.call(queue, number, time, record)?;
        }
        Ok(())
    }

    fn restore(&mut self, queue: u64, mut state: &[u8], number: u64) -> Result<()> {
        use journal::Coded;

        let unread = || Error::new(ErrorKind::Internal, "a state is none of this format");
        let name = QueueName::get(&mut state).ok_or_else(unread)?;
        let kept = if bool::get(&mut state).ok_or_else(unread)? {
            let restored = self.memory.restore_once(&name, state);
            restored.ok_or_else(unread)?;
            Kept::Once(at_once(self.memory.open_once(&name))?)
        } else {
            let config = self.memory.restore(&name, state).ok_or_else(unread)?;
            Kept::Queue(self.handle(&name, &config)?)
        };
        self.add(queue, name, kept, number);
        Ok(())
    }

    /// A handle that takes every call that was taken before.
    fn handle(&self, name: &QueueName, config: &QueueConfig) -> Result<AnyQueue> {
        let largest = config.clone().with_max_body(limits::MAX_BATCH_BYTES);
        at_once(self.memory.open(name, &largest))
    }

    fn record(
        &mut self,
        queue: u64,
        frame: &Frame<'_>,
        record: Record,
        has_state: bool,
    ) -> Result<()> {
        match record {
            Record::Open(name, config) => {
                at_once(self.memory.open(&name, &config))?;
                let kept = Kept::Queue(self.handle(&name, &config)?);
                self.add(queue, name, kept, frame.number);
                Ok(())
            }
            Record::OpenOnce(name) => {
                let kept = Kept::Once(at_once(self.memory.open_once(&name))?);
                self.add(queue, name, kept, frame.number);
                Ok(())
            }
            // The calls between the last one that is in a state, and the end of the state.
            record if has_state && !self.things.contains_key(&queue) => {
                let awaited = self.awaited.entry(queue).or_default();
                awaited.calls.push((frame.number, frame.time, record));
                Ok(())
            }
            record => self.call(queue, frame.number, frame.time, record),
        }
    }

    fn call(&mut self, queue: u64, number: u64, time: Timestamp, record: Record) -> Result<()> {
        let memory = &self.memory;
        let thing = self.things.get_mut(&queue);
        let thing = thing.ok_or_else(|| without("queue"))?;
        thing.last = number;
        journal::at(time, || match (&thing.kept, record) {
            (Kept::Queue(queue), Record::Call(call)) => {
                use queue_core::call::Service;
                at_once(queue.call(call)).map(drop)
            }
            (Kept::Queue(_), Record::Reconfigure(config)) => {
                at_once(memory.reconfigure(&thing.name, &config)).map(drop)
            }
            (Kept::Queue(_), Record::OpenOrResize(config)) => {
                at_once(memory.open_or_resize(&thing.name, &config)).map(drop)
            }
            (Kept::Queue(_), Record::Remove) => {
                at_once(memory.remove(&thing.name, Removal::EvenIfLeased)).map(drop)
            }
            (Kept::Once(store), Record::Once(call)) => play_once(&**store, &call),
            _ => Err(without("queue of its kind")),
        })
    }
}

fn play_once(store: &dyn OnceStore, call: &OnceCall) -> Result<()> {
    match call {
        OnceCall::Claim(key, time) => at_once(store.claim(key, *time)).map(drop),
        OnceCall::Extend(key, token, time) => at_once(store.extend(key, *token, *time)),
        OnceCall::Finish(key, token, keep) => at_once(store.finish(key, *token, *keep)),
        OnceCall::Release(key, token) => at_once(store.release(key, *token)),
    }
}

/// The queues of a journal that its owner may be writing, as they were a moment ago.
pub(crate) fn look(disk: &dyn Disk) -> Result<MemoryBackend> {
    const TRIES: usize = 5;
    let mut tries = 0;
    loop {
        tries += 1;
        let played = Scan::of(disk).and_then(|scan| {
            let now = MemoryBackend::new().time().max(scan.time);
            scan.replay(disk, MemoryBackend::starting_at(now))
        });
        match played {
            Ok((memory, _)) => return Ok(memory),
            // The owner may have removed a segment meanwhile.
            Err(error) if tries == TRIES => return Err(error),
            Err(_) => {}
        }
    }
}

#[cfg(all(test, feature = "simulated"))]
mod tests {
    use queue_core::call::Call;

    use super::*;
    use crate::{
        segments::{header, put_frame},
        simulated::SimulatedDisk,
    };

    /// The error of a journal whose only record has this content, and a good checksum.
    fn refused(content: &[u8]) -> String {
        let disk = SimulatedDisk::new(1);
        let mut bytes = header(1).to_vec();
        put_frame(&mut bytes, 1, 0, Timestamp::from_millis(1), content);
        disk.create(1, 1 << 16).unwrap();
        disk.write(1, 0, &bytes).unwrap();
        let played = Scan::of(&disk).and_then(|scan| scan.replay(&disk, MemoryBackend::new()));
        let Err(error) = played else {
            panic!("it was played");
        };
        assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
        error.to_string()
    }

    #[test]
    fn a_whole_record_that_means_nothing_is_refused_with_its_place() {
        let place = "in journal-000000000001, at byte 32, ";
        let unknown = refused(&[99]);
        assert!(
            unknown.contains(&format!("{place}a record is none of this format")),
            "{unknown}"
        );
        let of_no_queue = refused(&record::call(7, &Call::Depth));
        assert!(
            of_no_queue.contains(&format!("{place}the record 1 cannot be played again")),
            "{of_no_queue}"
        );
    }
}
