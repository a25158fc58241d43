//! Messages from the standard input: its lines, or all of it.

use std::io::{self, BufRead, Read};

use queue_core::{Bytes, Error, ErrorKind, Leasing, LeasingExt, Push, limits, with_sources};
use serde_json::json;
use tokio::sync::mpsc;

use crate::{
    End, Outcome,
    output::{Output, note},
};

/// Lines that are read ahead of their pushes.
const AHEAD: usize = 1_024;

/// Pushes each line of the standard input, as soon as it is there, as a message like `one`. Empty lines are skipped.
/// Writes the id of each.
///
/// An error says how many were pushed before it.
pub(crate) async fn push_lines(leasing: &dyn Leasing, one: &Push, output: &Output) -> Outcome {
    let (sender, mut lines) = mpsc::channel(AHEAD);
    // Reading blocks.
    std::thread::spawn(move || read_lines(&mut io::stdin().lock(), &sender));
    let (mut pushed, mut batch) = (0_u64, Vec::new());
    let before = |pushed| move |error: Error| with_count(&error, pushed);
    while lines.recv_many(&mut batch, limits::MAX_BATCH).await > 0 {
        let lines: Result<Vec<Bytes>, Error> = batch.drain(..).collect();
        let with_body = |line: Bytes| {
            let mut push = one.clone();
            push.body = line;
            push
        };
        let pushes: Vec<Push> = lines
            .map_err(before(pushed))?
            .into_iter()
            .map(with_body)
            .collect();
        let done = leasing.push_all(&pushes).await.map_err(before(pushed))?;
        for id in done.iter().map(|done| done.id()) {
            let Some(id) = id else {
                note(&format!(
                    "qk: full: {pushed} were pushed, and the next was not"
                ));
                return Ok(End::Findings);
            };
            pushed += 1;
            output.show(&json!({ "id": id }), || id.to_string())?;
        }
    }
    Ok(End::Well)
}

/// The whole standard input.
pub(crate) fn whole() -> Result<Bytes, Error> {
    let mut body = Vec::new();
    let mut input = io::stdin().lock().take(limits::MAX_BATCH_BYTES as u64 + 1);
    input
        .read_to_end(&mut body)
        .map_err(|error| unread(&error))?;
    Ok(body.into())
}

fn read_lines(input: &mut dyn BufRead, sender: &mpsc::Sender<Result<Bytes, Error>>) {
    for number in 1_u64.. {
        let read = read_line(input, number);
        let is_last = !matches!(read, Ok(Some(_)));
        if let Some(read) = read.transpose()
            && !matches!(&read, Ok(line) if line.is_empty())
            && sender.blocking_send(read).is_err()
        {
            return;
        }
        if is_last {
            return;
        }
    }
}

/// The next line; none at the end.
fn read_line(input: &mut dyn BufRead, number: u64) -> Result<Option<Bytes>, Error> {
    let mut line = Vec::new();
    let mut limited = input.take(limits::MAX_BATCH_BYTES as u64 + 1);
    let read = limited.read_until(b'\n', &mut line);
    if read.map_err(|error| unread(&error))? == 0 {
        return Ok(None);
    }
    if line.len() > limits::MAX_BATCH_BYTES {
        let message = format!("line {number} is longer than 8 MiB: no queue takes it");
        return Err(Error::invalid(message));
    }
    if line.ends_with(b"\n") {
        line.pop();
    }
    Ok(Some(line.into()))
}

fn unread(error: &io::Error) -> Error {
    Error::new(
        ErrorKind::Configuration,
        format!("the standard input: {error}"),
    )
}

/// The error, with the number of messages that were pushed before it.
fn with_count(error: &Error, pushed: u64) -> Error {
    let message = format!("{}; {pushed} were pushed before", with_sources(error));
    Error::new(error.kind(), message).with_outcome(error.outcome())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_bytes_and_empty_ones_skipped() {
        let (sender, mut lines) = mpsc::channel(8);
        read_lines(&mut &b"one\n\n\xff two \nlast"[..], &sender);
        let next =
            |lines: &mut mpsc::Receiver<Result<Bytes, Error>>| lines.try_recv().unwrap().unwrap();
        assert_eq!(next(&mut lines), "one");
        assert_eq!(next(&mut lines), &b"\xff two "[..]);
        assert_eq!(next(&mut lines), "last");
        assert!(lines.try_recv().is_err());
    }

    #[test]
    fn a_line_that_no_queue_takes_is_named() {
        let long = [&b"1\n"[..], &vec![b'x'; limits::MAX_BATCH_BYTES + 1]].concat();
        let (sender, mut lines) = mpsc::channel(8);
        read_lines(&mut &long[..], &sender);
        assert_eq!(lines.try_recv().unwrap().unwrap(), "1");
        let error = lines.try_recv().unwrap().unwrap_err().to_string();
        assert!(error.contains("line 2 is longer than 8 MiB"), "{error}");
    }
}
