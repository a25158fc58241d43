//! The state of a folder, for operators.

use std::path::Path;

use queue_core::{FolderFacts, Result, ServerFacts, Timestamp};
use queue_memory::MemoryBackend;

use crate::{
    disk::{Disk, Folder},
    segments::{HEADER, SEGMENT, Start, read_header},
};

/// The facts about a disk, and the process that has it. `needed` is the room without which pushes are refused, or 0.
pub(crate) fn facts(
    disk: &dyn Disk,
    now: Timestamp,
    mut folder: FolderFacts,
    needed: u64,
) -> ServerFacts {
    (folder.free, folder.needed) = (disk.free().ok(), needed);
    let mut facts = ServerFacts::default();
    facts.address = disk.name();
    facts.version = concat!("queue-file ", env!("CARGO_PKG_VERSION")).to_owned();
    facts.now = now;
    if needed > 0 {
        let why = "the disk is full: pushes are refused until there is room again";
        facts.refuses_writes = Some(why.to_owned());
    }
    facts.folder = Some(folder);
    facts
}

/// The facts about a folder that another process may have.
pub(crate) fn look(path: &Path) -> Result<ServerFacts> {
    let folder = Folder::look(path)?;
    let found = folder.owner();
    let now = MemoryBackend::new().time();
    let needed = needed(&folder, found.held);
    Ok(facts(&folder, now, found, needed))
}

/// The room that pushes need, or 0 if they have it. An owner takes the room of the next segment in advance, and refuses
/// pushes while it has none. The next owner begins a segment, too.
fn needed(folder: &Folder, held: bool) -> u64 {
    let files = folder.files().unwrap_or_default();
    let is_spare = |file: &&u64| {
        let header = folder.read(**file, HEADER as u64);
        header.is_ok_and(|bytes| read_header(&bytes) == Start::Unwritten)
    };
    let spare = files.iter().rev().take_while(is_spare).count() as u64;
    let missing = if held { 1_u64 } else { 2 }.saturating_sub(spare) * SEGMENT;
    match folder.free() {
        Ok(free) if free < missing => missing,
        _ => 0,
    }
}
