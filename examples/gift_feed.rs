//! The last ten gifts of a live stream: a bounded queue that drops the oldest, and shows no gift
//! twice.

mod cli;

use std::process::ExitCode;

use queue_kit::{LeasingExt, Overflow, Pushed};
use tokio::io::{AsyncBufReadExt, BufReader, stdin};

use self::cli::{Arguments, Failure};

const HELP: &str = "\
Shows the last ten gifts, newest first.

usage: gift_feed [--backend URL] < GIFTS

GIFTS has one gift a line: who gave what, in up to 256 bytes. A gift that is shown and comes again
moves to the top. The feed on a shared backend is cleared first.

--backend URL   where the queue is; memory: if left out";

const QUEUE: &str = "example:gift-feed";
const SHOWN: usize = 10;

#[tokio::main]
async fn main() -> ExitCode {
    cli::exit_code(run(&Arguments::read(HELP, 0)).await)
}

async fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let queues = queue_kit::connect(&arguments.backend).await?;
    let feed = queues.bounded(QUEUE, SHOWN).open::<String>().await?;
    feed.queue().purge_all().await?;

    let (mut gifts, mut repeated, mut dropped, mut left_out) = (0_u64, 0_u64, 0_u64, 0_u64);
    let mut lines = BufReader::new(stdin()).split(b'\n');
    for number in 1_u64.. {
        let Some(line) = lines.next_segment().await? else {
            break;
        };
        let gift = match String::from_utf8(line) {
            Ok(gift) if gift.trim().is_empty() => continue,
            Ok(gift) => gift.trim().to_owned(),
            Err(error) => {
                eprintln!("line {number} is left out: {error}");
                left_out += 1;
                continue;
            }
        };
        // The gift is its own distinct key, so the feed has it once (B7).
        let message = feed.message(&gift).overflow(Overflow::DropOldest);
        match message.distinct(gift).send().await {
            Ok(Pushed::Accepted(_)) => gifts += 1,
            Ok(Pushed::Evicted { .. }) => {
                gifts += 1;
                dropped += 1;
            }
            Ok(Pushed::Replaced { .. }) => {
                gifts += 1;
                repeated += 1;
            }
            Ok(other) => return Err(format!("line {number}: not accepted, but {other:?}").into()),
            Err(error) if error.kind() == queue_kit::ErrorKind::Invalid => {
                eprintln!("line {number} is left out: {error}");
                left_out += 1;
            }
            Err(error) => return Err(error.into()),
        }
    }

    let newest = feed.recent(SHOWN).await?;
    for gift in &newest {
        println!("{}", gift.body.as_ref().map_err(ToString::to_string)?);
    }
    let shown = newest.len();
    println!("gifts={gifts} shown={shown} dropped={dropped} repeated={repeated}");
    if left_out > 0 {
        eprintln!("{left_out} lines were left out, see above");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}
