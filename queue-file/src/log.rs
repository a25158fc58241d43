//! The journal's segments, as its one writer has them.

use std::{collections::VecDeque, io, sync::Arc};

use queue_core::Timestamp;

use crate::{
    disk::Disk,
    segments::{FRAME, HEADER, header, put_frame},
    sync_times::SyncTimes,
};

/// A segment that gets no more records.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment {
    pub(crate) file: u64,
    /// The numbers of its records.
    pub(crate) first: u64,
    pub(crate) next: u64,
    pub(crate) length: u64,
}

/// The segments of a journal, and the place of its next record.
#[derive(Debug)]
pub(crate) struct Log {
    disk: Arc<dyn Disk>,
    /// The length of a segment.
    pub(crate) segment: u64,
    pub(crate) closed: VecDeque<Segment>,
    file: u64,
    length: u64,
    first: u64,
    used: u64,
    /// The next segment. Its room is taken from the disk before it is needed.
    spare: Option<u64>,
    next_file: u64,
    /// The number of the next record.
    pub(crate) next: u64,
    /// The number of the last record that is durable.
    pub(crate) durable: u64,
    is_dirty: bool,
    pub(crate) sync_times: Arc<SyncTimes>,
}

/// A record to write.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) time: Timestamp,
    pub(crate) content: Vec<u8>,
}

/// The room that a record takes.
pub(crate) const fn size(content: usize) -> u64 {
    (FRAME + content) as u64
}

impl Log {
    /// Begins a new segment behind these, so that nothing is written behind a torn end.
    pub(crate) fn begin(
        disk: Arc<dyn Disk>,
        segment: u64,
        closed: VecDeque<Segment>,
        next_file: u64,
        next: u64,
    ) -> io::Result<Self> {
        disk.create(next_file, segment)?;
        let mut log = Self {
            disk,
            segment,
            closed,
            file: next_file,
            length: segment,
            first: next,
            used: 0,
            spare: None,
            next_file: next_file + 1,
            next,
            durable: next - 1,
            is_dirty: false,
            sync_times: Arc::default(),
        };
        log.write_header()?;
        log.sync()?;
        Ok(log)
    }

    fn write_header(&mut self) -> io::Result<()> {
        self.disk.write(self.file, 0, &header(self.first))?;
        self.used = HEADER as u64;
        self.is_dirty = true;
        Ok(())
    }

    /// The room that is left in the segment.
    pub(crate) const fn left(&self) -> u64 {
        self.length - self.used
    }

    pub(crate) const fn has_spare(&self) -> bool {
        self.spare.is_some()
    }

    /// Takes the room of the next segment from the disk. Returns false if the disk is full.
    pub(crate) fn reserve(&mut self) -> io::Result<bool> {
        match self.spare {
            Some(_) => Ok(true),
            None => self.create(self.segment),
        }
    }

    fn create(&mut self, length: u64) -> io::Result<bool> {
        match self.disk.create(self.next_file, length) {
            Ok(()) => {
                self.spare = Some(self.next_file);
                self.next_file += 1;
                Ok(true)
            }
            Err(error) if is_full(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Writes records. They are durable after the next [`sync`](Self::sync). Returns true if it began a segment.
    pub(crate) fn write(&mut self, records: &[Pending]) -> io::Result<bool> {
        let mut bytes = Vec::new();
        let mut has_begun = false;
        for record in records {
            let needed = size(record.content.len());
            if self.left() - (bytes.len() as u64) < needed {
                self.flush(&mut bytes)?;
                self.turn_over(needed)?;
                has_begun = true;
            }
            put_frame(
                &mut bytes,
                self.next,
                self.durable,
                record.time,
                &record.content,
            );
            self.next += 1;
        }
        self.flush(&mut bytes)?;
        Ok(has_begun)
    }

    fn flush(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        if !bytes.is_empty() {
            self.disk.write(self.file, self.used, bytes)?;
            self.used += bytes.len() as u64;
            self.is_dirty = true;
            bytes.clear();
        }
        Ok(())
    }

    /// Begins the next segment, for a record of this size. The last one is durable first: so only the last segment can
    /// have a torn end.
    fn turn_over(&mut self, needed: u64) -> io::Result<()> {
        self.sync()?;
        let length = self.segment.max(HEADER as u64 + needed);
        if length == self.segment {
            self.reserve()?;
        } else {
            if let Some(short) = self.spare.take() {
                self.disk.remove(short)?;
            }
            self.create(length)?;
        }
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let spare = self.spare.take().ok_or_else(full)?;
        self.closed.push_back(Segment {
            file: self.file,
            first: self.first,
            next: self.next,
            length: self.length,
        });
        (self.file, self.length, self.first) = (spare, length, self.next);
        self.write_header()
    }

    /// Makes all records durable.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        if self.is_dirty {
            self.sync_times.time(|| self.disk.sync(self.file))?;
            self.is_dirty = false;
        }
        self.durable = self.next - 1;
        Ok(())
    }

    /// The segments that have the records from this number on.
    pub(crate) fn segments_from(&self, from: u64) -> Vec<Segment> {
        let open = Segment {
            file: self.file,
            first: self.first,
            next: self.next,
            length: self.length,
        };
        let all = self.closed.iter().copied().chain([open]);
        all.filter(|segment| segment.next > from).collect()
    }

    /// The file of the first segment, if it has only records below this number.
    pub(crate) fn first_below(&self, from: u64) -> Option<u64> {
        let first = self.closed.front()?;
        (first.next <= from).then_some(first.file)
    }

    /// The bytes of the segments that get no more records.
    pub(crate) fn closed_bytes(&self) -> u64 {
        self.closed.iter().map(|segment| segment.length).sum()
    }
}

pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}
