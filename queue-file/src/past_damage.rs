//! Reading the records of a damaged journal, also behind the damage.

use queue_core::{Error, ErrorKind, Result, Timestamp};

use crate::{
    disk::Disk,
    recovery::failed,
    segments::{
        FORMAT, Frame, HEADER, Start, first_without_header, frame_at, later, read_header,
        was_durable,
    },
};

/// Records that cannot be read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gap {
    pub(crate) file: u64,
    pub(crate) byte: usize,
    /// The missing records: the first one, and the first one behind them.
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// The time of the last record before.
    pub(crate) time: Timestamp,
}

/// The segments of a damaged journal.
pub(crate) struct Segments {
    pub(crate) files: Vec<(u64, Start)>,
    /// The place in `files` behind the last segment; spare files follow.
    pub(crate) end: usize,
}

impl Segments {
    pub(crate) fn of(disk: &dyn Disk) -> Result<Self> {
        let read = |file, length| disk.read(file, length).map_err(|error| failed(disk, error));
        let (mut files, mut end) = (Vec::new(), 0);
        for file in disk.files().map_err(|error| failed(disk, error))? {
            let start = read_header(&read(file, HEADER as u64)?);
            if let Start::Format(other) = start {
                let name = disk.name();
                let message =
                    format!("{name} has the format {other}, and this version reads {FORMAT}");
                return Err(Error::new(ErrorKind::Configuration, message));
            }
            let has_records = match start {
                Start::Unwritten => first_without_header(&read(file, u64::MAX)?).is_some(),
                _ => true,
            };
            files.push((file, start));
            if has_records {
                end = files.len();
            }
        }
        Ok(Self { files, end })
    }

    /// Calls `each` with all records that can be read. Returns the gaps between them, and the number behind the last
    /// record.
    pub(crate) fn walk(
        &self,
        disk: &dyn Disk,
        mut each: impl FnMut(&Frame<'_>, &mut Vec<Gap>, (u64, usize)),
    ) -> Result<(Vec<Gap>, u64)> {
        let mut gaps = Vec::new();
        let mut time = Timestamp::default();
        // The number behind the last record, and its place.
        let mut behind: Option<(u64, u64, usize)> = None;
        let segments = &self.files[..self.end];
        for (index, (file, start)) in segments.iter().enumerate() {
            let bytes = disk.read(*file, u64::MAX);
            let bytes = bytes.map_err(|error| failed(disk, error))?;
            let gap = |file, byte, from, to, time| Gap {
                file,
                byte,
                from,
                to,
                time,
            };
            let expected = behind.map(|(number, ..)| number);
            let mut number = match start {
                Start::Segment(first) => *first,
                _ => expected.or(first_without_header(&bytes)).unwrap_or(0),
            };
            if let Start::Unwritten = start {
                gaps.push(gap(*file, 0, number, number, time));
            }
            if let Some((missing, file, byte)) = behind
                && missing < number
            {
                gaps.push(gap(file, byte, missing, number, time));
            }
            let end = segments[index + 1..]
                .iter()
                .find_map(|(_, start)| match start {
                    Start::Segment(first) => Some(*first),
                    _ => None,
                });
            let mut byte = HEADER;
            while end.is_none_or(|end| number < end) {
                if let Some((frame, next)) = frame_at(&bytes, byte, number) {
                    time = time.max(frame.time);
                    each(&frame, &mut gaps, (*file, byte));
                    (number, byte) = (number + 1, next);
                    continue;
                }
                // The torn end.
                if index + 1 == segments.len() && !was_durable(&bytes, byte, number) {
                    break;
                }
                let Some((place, frame)) = later(&bytes, byte, number).next() else {
                    break;
                };
                gaps.push(gap(*file, byte, number, frame.number, time));
                (number, byte) = (frame.number, place);
            }
            behind = Some((number, *file, byte));
        }
        Ok((gaps, behind.map_or(1, |(number, ..)| number)))
    }
}
