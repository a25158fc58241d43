//! Commands that carry messages to a file, from a file, and from queue to queue.

use std::{
    fs::File,
    hash::{BuildHasher, RandomState},
    io::{self, BufRead, BufReader, BufWriter, Write},
    path::Path,
};

use queue_core::{Backend, Error, ErrorKind, QueueKind, Result, limits};
use queue_ops::{
    ExportedMessage, ExportedPlace, Transferred, counted, export, import, move_messages,
};
use serde::{Deserialize, Serialize};

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
    move |error| Error::new(ErrorKind::Invalid, format!("{path}: {error}")).with_source(error)
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
    let count = export(backend, queue, &mut write).await?;
    file.flush().map_err(of(path))?;
    bar.finish_and_clear();
    if to.is_some() {
        output.show(&serde_json::json!({ "exported": count }), || {
            let live = match counters.paused {
                true => "",
                false => "; the queue was not paused: what was acked meanwhile may be missing",
            };
            format!("{} exported{live}", counted(count, "message"))
        })?;
    }
    Ok(End::Well)
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
    let (first, _) = lines.next().ok_or_else(|| not_an_export(path))?;
    let first = first.map_err(of(path))?;
    let head: Head = serde_json::from_str(&first).map_err(|_| not_an_export(path))?;
    if head.queue_kit_export != VERSION {
        let version = head.queue_kit_export;
        return Err(Error::invalid(format!(
            "{}: an export of version {version}, and this program reads version {VERSION}",
            path.display()
        )));
    }
    let bar = progress(length);
    let (mut batch, mut bytes) = (Vec::new(), 0);
    let (mut all, mut left) = (Transferred::default(), 0_u64);
    loop {
        let next = lines.next();
        let is_last = next.is_none();
        if let Some((text, number)) = next {
            let text = text.map_err(of(path))?;
            bar.inc(text.len() as u64 + 1);
            let message: ExportedMessage = serde_json::from_str(&text).map_err(|error| {
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
                    bytes += text.len();
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
    output.show(&all, || {
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
    })?;
    Ok(if all.full == 0 {
        End::Well
    } else {
        End::Findings
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
    let depth = old.depth().await?;
    let count = depth.ready + depth.delayed;
    if !arguments.yes {
        write_line(&format!(
            "would pause {from}, and move {} to {to}; {} leased and {} dead stay: say --yes",
            counted(count, "message"),
            depth.leased,
            depth.dead
        ))?;
        return Ok(End::Findings);
    }
    old.pause().await?;
    let transfer = arguments.transfer.clone();
    let transfer = transfer.unwrap_or_else(|| new_transfer(from));
    eprintln!("if this breaks, repeat it with --transfer '{transfer}'");
    let bar = progress(count);
    let mut show = |done| bar.set_position(done);
    let moved = move_messages(backend, from, to, &transfer, &mut show).await?;
    bar.finish_and_clear();
    output.show(&moved, || {
        let count = moved.pushed + moved.pushed_before;
        let mut said = format!("{} moved; {from} is paused", counted(count, "message"));
        if moved.full > 0 {
            said.push_str(&format!(
                "; {to} is full: make room, and repeat it with --transfer '{transfer}'"
            ));
        }
        if moved.in_both > 0 {
            said.push_str(&format!(
                "; {} were leased meanwhile, and are in both",
                moved.in_both
            ));
        }
        said
    })?;
    let is_done = moved.full == 0 && moved.in_both == 0;
    Ok(if is_done { End::Well } else { End::Findings })
}
