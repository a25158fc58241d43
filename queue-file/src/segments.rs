//! The journal's bytes: numbered files, called segments, of records one behind another.
//!
//! A segment begins with its header: what this is, the number of the format, the number of its first record, and a
//! checksum. A record is a frame of its length, a checksum, its number, the number of the last record that was
//! durable when it was written, the time, and its content. A record that fails its checksum is the torn end of the
//! journal, unless a later one says that it was durable: then it was damaged.

use queue_core::Timestamp;

/// The number of the format. Increase it with each change of the bytes, also of the states in `queue-memory`.
pub(crate) const FORMAT: u32 = 1;
const MAGIC: &[u8; 16] = b"queue-kit:file\r\n";

/// The length of a segment. Each record has room in one: no call has more than 10 MiB. A test may choose shorter ones, and
/// then a record that is longer has a segment of its own.
pub(crate) const SEGMENT: u64 = 16 * 1024 * 1024;
pub(crate) const HEADER: usize = 32;
pub(crate) const FRAME: usize = 32;

/// The header of a segment.
pub(crate) fn header(first: u64) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..16].copy_from_slice(MAGIC);
    header[16..20].copy_from_slice(&FORMAT.to_le_bytes());
    header[20..28].copy_from_slice(&first.to_le_bytes());
    let sum = crc32fast::hash(&header[..28]);
    header[28..].copy_from_slice(&sum.to_le_bytes());
    header
}

/// What the beginning of a file says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// A segment, with the number of its first record.
    Segment(u64),
    /// Another format.
    Format(u32),
    /// No record was written yet, or a crash tore the header.
    Unwritten,
}

pub(crate) fn read_header(bytes: &[u8]) -> Start {
    let Some(header) = bytes.get(..HEADER) else {
        return Start::Unwritten;
    };
    let sum = crc32fast::hash(&header[..28]);
    if header[..16] != *MAGIC || header[28..] != sum.to_le_bytes() {
        return Start::Unwritten;
    }
    match u32_at(header, 16) {
        FORMAT => Start::Segment(u64_at(header, 20)),
        other => Start::Format(other),
    }
}

/// Appends a record.
pub(crate) fn put_frame(
    out: &mut Vec<u8>,
    number: u64,
    durable: u64,
    time: Timestamp,
    content: &[u8],
) {
    let begin = out.len();
    let length = u32::try_from(content.len()).expect("a record is shorter than a segment");
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&number.to_le_bytes());
    out.extend_from_slice(&durable.to_le_bytes());
    out.extend_from_slice(&time.as_millis().to_le_bytes());
    out.extend_from_slice(content);
    let sum = checksum(&out[begin..]);
    out[begin + 4..begin + 8].copy_from_slice(&sum.to_le_bytes());
}

fn checksum(frame: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&frame[..4]);
    sum.update(&frame[8..]);
    sum.finalize()
}

/// A record as it is stored.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) number: u64,
    pub(crate) durable: u64,
    pub(crate) time: Timestamp,
    pub(crate) content: &'a [u8],
}

/// Reads the record of this number at this place; `None` if there is none, or not all of it.
pub(crate) fn frame_at(segment: &[u8], place: usize, number: u64) -> Option<(Frame<'_>, usize)> {
    let head = segment.get(place..place + FRAME)?;
    if u64_at(head, 8) != number {
        return None;
    }
    let end = place + FRAME + u32_at(head, 0) as usize;
    let frame = segment.get(place..end)?;
    if checksum(frame) != u32_at(head, 4) {
        return None;
    }
    let frame = Frame {
        number,
        durable: u64_at(head, 16),
        time: Timestamp::from_millis(u64_at(head, 24)),
        content: &frame[FRAME..],
    };
    Some((frame, end))
}

/// Whether a record behind this place says that the record of this number was durable.
pub(crate) fn was_durable(segment: &[u8], place: usize, number: u64) -> bool {
    later(segment, place, number).any(|(_, frame)| frame.durable >= number)
}

/// The records behind this place that have larger numbers, with their places.
pub(crate) fn later(
    segment: &[u8],
    place: usize,
    number: u64,
) -> impl Iterator<Item = (usize, Frame<'_>)> {
    let segment = without_zeros(segment);
    let rest = place..segment.len().saturating_sub(FRAME);
    rest.filter_map(move |place| {
        let later = u64_at(segment, place + 8);
        // The number alone excludes most places, without a checksum.
        let is_near = number < later && later - number < SEGMENT;
        let found = is_near.then(|| frame_at(segment, place, later)).flatten();
        found.map(|(frame, _)| (place, frame))
    })
}

/// The number of the first record of a segment whose header has other bytes than were written; `None` if the header was
/// never durable.
pub(crate) fn first_without_header(segment: &[u8]) -> Option<u64> {
    let first = u64_at(segment.get(HEADER..HEADER + FRAME)?, 8);
    frame_at(segment, HEADER, first)?;
    was_durable(segment, HEADER, first).then_some(first)
}

/// The segment up to the zeros of its end, to which nothing was written; some of them may stay.
fn without_zeros(segment: &[u8]) -> &[u8] {
    const ZEROS: [u8; 4096] = [0; 4096];
    let mut chunks = segment.chunks(ZEROS.len());
    let last = chunks.rposition(|chunk| *chunk != ZEROS[..chunk.len()]);
    let end = last.map_or(0, |last| (last + 1) * ZEROS.len());
    &segment[..end.min(segment.len())]
}

fn u32_at(bytes: &[u8], place: usize) -> u32 {
    u32::from_le_bytes(bytes[place..place + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], place: usize) -> u64 {
    u64::from_le_bytes(bytes[place..place + 8].try_into().expect("eight bytes"))
}
