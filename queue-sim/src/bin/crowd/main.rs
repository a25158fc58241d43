//! Tests on a real Redis, in real time, what the simulator's world does not have: several runtimes
//! on their own threads, a thousand queues, large bodies, a long line, half-polled futures. It
//! counts every message. It fails if one is lost or comes twice, or if a consumer sleeps while a
//! message is there. See `crowd --help`.

mod arguments;
mod round;
mod tally;

use std::{env, process::ExitCode};

use self::arguments::{Arguments, HELP};

fn main() -> ExitCode {
    let arguments = match Arguments::parse(env::args().skip(1)) {
        Ok(Some(arguments)) => arguments,
        Ok(None) => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(wrong) => {
            eprintln!("crowd: {wrong}");
            return ExitCode::from(2);
        }
    };
    for round in 1..=arguments.rounds {
        match round::play(&arguments) {
            Ok(tally) => {
                println!("round={round} {tally}");
                if !tally.is_clean() {
                    return ExitCode::FAILURE;
                }
            }
            Err(error) => {
                eprintln!("crowd: round {round}: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
