//! Codecs around a codec: bodies are compressed and encrypted, and the key changes while messages are under way.

#[path = "../cli/mod.rs"]
mod cli;
mod packed;
mod sealed;

use std::{process::ExitCode, time::Duration};

use queue_kit::{Decode, Encode, Json, LeasingExt, Page, Place, Reliable, TypedDelivery};
use serde::{Deserialize, Serialize};

use self::{
    cli::{Arguments, Failure},
    packed::Packed,
    sealed::Sealed,
};

const HELP: &str = "\
Pushes two letters whose bodies are compressed and encrypted, and changes the key in between. The
consumer reads both. One that no longer has the first key reads the second letter alone.

usage: sealed_bodies [--backend URL]

--backend URL   where the queue is; memory: if left out";

const QUEUE: &str = "example:letters";
const LEASE: Duration = Duration::from_secs(30);

/// They would come from a store of secrets.
const FIRST: (u8, [u8; 32]) = (1, [0x11; 32]);
const SECOND: (u8, [u8; 32]) = (2, [0x22; 32]);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Letter {
    to: String,
    text: String,
}

#[tokio::main]
async fn main() -> ExitCode {
    cli::exit_code(run(&Arguments::read(HELP, 0)).await)
}

async fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let queues = queue_kit::connect(&arguments.backend).await?;
    let letters = queues.reliable(QUEUE).open::<Letter>().await?;
    letters.queue().purge_all().await?;
    // Compressed first: encrypted bytes have nothing left to compress.
    let codec = |sealing, keys: &[_]| Sealed::new(Packed(Json), sealing, keys);
    let before = letters.clone().codec(codec(1, &[FIRST, SECOND])?);
    let after = letters.clone().codec(codec(2, &[FIRST, SECOND])?);
    let second_alone = letters.clone().codec(codec(2, &[SECOND])?);

    let letter = Letter {
        to: "ada@example.com".to_owned(),
        text: "Your order is on its way. ".repeat(40),
    };
    before.push(&letter).await?;
    after.push(&letter).await?;
    let stored = letters.queue().peek(Place::Ready, Page::first(2)).await?;
    let body = &stored.entries[0].message.body;
    let hidden = !body.windows(3).any(|bytes| bytes == b"ada");
    let (json, sealed) = (Json.encode(&letter)?.len(), body.len());

    let first = receive(&second_alone).await?;
    let refused = match first.body() {
        Ok(letter) => Err(format!("read without its key: {letter:?}"))?,
        Err(error) => error.to_string(),
    };
    println!("refused: {refused}");
    first.release().await?;
    let mut read = 0;
    for _ in 0..2 {
        let delivery = receive(&after).await?;
        read += u32::from(*delivery.body()? == letter);
        delivery.ack().await?;
    }
    println!("letters=2 hidden={hidden} read={read} json_bytes={json} sealed_bytes={sealed}");
    Ok(ExitCode::SUCCESS)
}

async fn receive(
    letters: &Reliable<Letter, impl Decode<Letter>>,
) -> Result<TypedDelivery<Letter>, Failure> {
    let delivery = letters.receive(LEASE, Duration::ZERO).await?;
    Ok(delivery.ok_or("a letter is missing")?)
}
