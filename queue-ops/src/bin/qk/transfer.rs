//! Commands that carry messages to a file, from a file, and from queue to queue.

use std::{
    fs::File,
    hash::{BuildHasher, RandomState},
    io::{self, BufRead, BufReader, BufWriter, Write},
    path::Path,
};

use queue_core::{Backend, Error, ErrorKind, Json, QueueKind, Result, limits};
use queue_ops::{
    ExportedMessage, ExportedPlace, ShellCommand, Transferred, counted, export, import,
    move_messages,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    End, Outcome,
    arguments::{Import, Move},
    open, open_leasing,
    output::{Output, progress, write_line},
};

/// The version of the format.
const VERSION: u32 = 1;

/// The first line of an export.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    queue_kit_export: u32,
    queue: String,
    kind: QueueKind,
    /// The name under which imports of this file push, so that they push once.
    transfer: String,
}

/// A name that no other transfer has.
fn new_transfer(queue: &str) -> String {
    format!("{queue} {:016x}", RandomState::new().hash_one(queue))
}

/// An error of this file.
fn of(path: &Path) -> impl Fn(io::Error) -> Error {
    let path = path.display().to_string();
    move |error| Error::new(ErrorKind::Invalid, path.clone()).with_source(error)
}

fn line(value: &impl Serialize) -> Result<String> {
    let json = serde_json::to_string(value);
    json.map_err(|error| Error::invalid(format!("no JSON: {error}")))
}

pub(crate) async fn export_to(
    backend: &dyn Backend,
    queue: &str,
    to: Option<&Path>,
    output: &Output,
) -> Outcome {
    let (config, _) = open(backend, queue).await?;
    let counters = open_leasing(backend, queue).await?.counters().await?;
    let path = to.unwrap_or(Path::new("the standard output"));
    let mut file: Box<dyn Write + Send> = match to {
        // An earlier export may be all that is left of its messages.
        Some(to) => Box::new(BufWriter::new(File::create_new(to).map_err(of(path))?)),
        None => Box::new(BufWriter::new(io::stdout())),
    };
    let mut put = |text: &str| writeln!(file, "{text}").map_err(of(path));
    put(&line(&Head {
        queue_kit_export: VERSION,
        queue: queue.to_owned(),
        kind: config.kind(),
        transfer: new_transfer(queue),
    })?)?;
    let bar = progress(counters.depth.occupied() + counters.depth.dead);
    let mut write = |message: ExportedMessage| {
        bar.inc(1);
        put(&line(&message)?)
    };
    let done = export(backend, queue, &mut write).await?;
    file.flush().map_err(of(path))?;
    bar.finish_and_clear();
    let missing = match (done.missing, counters.paused) {
        (0, _) => String::new(),
        (count, true) => format!("; {count} left the queue meanwhile, and are missing"),
        (count, false) => format!(
            "; {count} left the queue meanwhile, and are missing: pause {queue} for an exact copy"
        ),
    };
    if to.is_some() {
        output.show(&done, || {
            format!("{} exported{missing}", counted(done.exported, "message"))
        })?;
    } else if done.missing > 0 {
        // The standard output has the messages.
        eprintln!("{} exported{missing}", counted(done.exported, "message"));
    }
    Ok(match done.missing {
        0 => End::Well,
        _ => End::Findings,
    })
}

pub(crate) async fn import_from(
    backend: &dyn Backend,
    arguments: &Import,
    output: &Output,
) -> Outcome {
    let path = &arguments.file;
    let file = File::open(path).map_err(of(path))?;
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    let mut lines = BufReader::new(file).lines().zip(1_u64..);
    let first = lines.next().map(|(first, _)| first);
    let head = head(path, first)?;
    let bar = progress(length);
    let (mut batch, mut bytes) = (Vec::new(), 0);
    let (mut all, mut left) = (Transferred::default(), 0_u64);
    loop {
        let next = lines.next();
        let is_last = next.is_none();
        if let Some((text, number)) = next {
            let text = text.map_err(of(path))?;
            let length = text.len();
            bar.inc(length as u64 + 1);
            let message = Json::read::<ExportedMessage>(&text.into()).map_err(|error| {
                Error::invalid(format!(
                    "{}, line {number}: {error}; lines before it may be imported already, and importing the mended \
                     file pushes none of them twice",
                    path.display()
                ))
            })?;
            match message.place {
                ExportedPlace::Leased if !arguments.leased => left += 1,
                ExportedPlace::Dead if !arguments.dead => left += 1,
                _ => {
                    bytes += length;
                    batch.push(message);
                }
            }
        }
        if is_last || batch.len() == limits::MAX_BATCH || bytes >= limits::MAX_BATCH_BYTES {
            all += import(backend, &arguments.queue, &head.transfer, &batch).await?;
            (batch, bytes) = (Vec::new(), 0);
        }
        if is_last {
            break;
        }
    }
    bar.finish_and_clear();
    show_imported(&all, left, output)?;
    Ok(End::all(all.full == 0))
}

/// The first line of an export.
fn head(path: &Path, line: Option<io::Result<String>>) -> Result<Head, Error> {
    let line = line.ok_or_else(|| not_an_export(path))?.map_err(of(path))?;
    let head: Head = serde_json::from_str(&line).map_err(|_| not_an_export(path))?;
    if head.queue_kit_export != VERSION {
        let version = head.queue_kit_export;
        return Err(Error::invalid(format!(
            "{}: an export of version {version}, and this program reads version {VERSION}",
            path.display()
        )));
    }
    Ok(head)
}

/// Shows what was imported, and how many messages are left in the file.
fn show_imported(all: &Transferred, left: u64, output: &Output) -> Result<(), Error> {
    let told = json!({
        "pushed": all.pushed,
        "pushed_before": all.pushed_before,
        "full": all.full,
        "left_in_file": left,
    });
    output.show(&told, || {
        let mut said = format!("{} imported", counted(all.pushed, "message"));
        for (count, what) in [
            (all.pushed_before, "were imported before"),
            (
                all.full,
                "found no room: make room, and import the file again",
            ),
            (
                left,
                "were leased or dead, and stay in the file (--leased, --dead)",
            ),
        ] {
            if count > 0 {
                said.push_str(&format!("; {count} {what}"));
            }
        }
        said
    })
}

fn not_an_export(path: &Path) -> Error {
    Error::invalid(format!(
        "{}: no export of `qk export`: its first line says `queue_kit_export`",
        path.display()
    ))
}

pub(crate) async fn move_all(backend: &dyn Backend, arguments: &Move, output: &Output) -> Outcome {
    let (from, to) = (&arguments.from, &arguments.to);
    if from == to {
        return Err(Error::invalid(format!(
            "{from} to itself: name another queue"
        )));
    }
    let old = open_leasing(backend, from).await?;
    open_leasing(backend, to).await?;
    let (new_config, _) = open(backend, to).await?;
    let (old_config, _) = open(backend, from).await?;
    let lost = lost_between(old_config.kind(), new_config.kind());
    let depth = old.depth().await?;
    let count = depth.ready + depth.delayed;
    if !arguments.yes {
        write_line(&format!(
            "would pause {from}, and move {} to {to}, without {lost}; {} leased and {} dead stay: say --yes",
            counted(count, "message"),
            depth.leased,
            depth.dead
        ))?;
        return Ok(End::Findings);
    }
    old.pause().await?;
    let transfer = arguments.transfer.clone();
    let transfer = transfer.unwrap_or_else(|| new_transfer(from));
    let again = ShellCommand::new("move").value(from).value(to);
    let again = again.option("transfer", &transfer).flag("yes");
    let again = output.command(&again);
    eprintln!("if this breaks, repeat it: {again}");
    let bar = progress(count);
    let mut show = |done| bar.set_position(done);
    let moved = move_messages(backend, from, to, &transfer, &mut show).await?;
    bar.finish_and_clear();
    output.show(&moved, || {
        let count = moved.pushed + moved.pushed_before;
        let mut said = format!(
            "{} moved, without {lost}; {from} is paused",
            counted(count, "message")
        );
        said.push_str(&not_moved(&moved, arguments, &again, output));
        said
    })?;
    let is_done = moved.full == 0 && moved.in_both == 0 && moved.stay == 0;
    Ok(End::all(is_done))
}

/// The messages that were not moved, and what to do about them.
fn not_moved(moved: &Transferred, arguments: &Move, again: &str, output: &Output) -> String {
    let mut said = String::new();
    if moved.full > 0 {
        let to = &arguments.to;
        said.push_str(&format!(
            "; {to} is full: make room, and repeat it: {again}"
        ));
    }
    if moved.in_both > 0 {
        said.push_str(&format!(
            "; {} were leased meanwhile, and are in both",
            moved.in_both
        ));
    }
    if moved.stay > 0 {
        said.push_str(&format!(
            "; {} stay, because their groups are paused or parked, or a message of theirs is leased: {}",
            moved.stay,
            output.command(&ShellCommand::new("groups").value(&arguments.from))
        ));
    }
    said
}

/// What a message loses on the way from a queue of one kind to a queue of another.
fn lost_between(old: QueueKind, new: QueueKind) -> String {
    let mut lost = "attempts, reasons, ages, dedup marks".to_owned();
    lost.push_str(match old {
        // No peek shows them.
        QueueKind::Bounded => ", distinct keys",
        QueueKind::Priority if new != old => ", priorities",
        QueueKind::Grouped if new != old => ", groups",
        QueueKind::Grouped => ", rules of groups",
        _ => "",
    });
    lost
}
