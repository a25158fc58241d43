//! The command line that the examples share: `--backend URL`, `--help`, and operands.

use std::{env, error::Error, process::ExitCode, process::exit};

/// Any error that ends an example early.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// The parsed command line.
pub(crate) struct Arguments {
    /// The backend's URL, for `queue_kit::connect`.
    pub(crate) backend: String,
    /// The arguments that are no options, in order.
    pub(crate) operands: Vec<String>,
}

impl Arguments {
    /// Reads the command line. For `--help` it prints the help and exits; on a mistake it shows an
    /// error and exits with status 2.
    pub(crate) fn read(help: &str, most_operands: usize) -> Self {
        Self::parse(env::args().skip(1), help, most_operands).unwrap_or_else(|wrong| {
            eprintln!("{wrong}\n\n{help}");
            exit(2)
        })
    }

    fn parse(
        mut arguments: impl Iterator<Item = String>,
        help: &str,
        most_operands: usize,
    ) -> Result<Self, String> {
        let mut read = Self {
            backend: "memory:".to_owned(),
            operands: Vec::new(),
        };
        while let Some(argument) = arguments.next() {
            if argument == "--help" || argument == "-h" {
                println!("{help}");
                exit(0);
            } else if argument == "--backend" {
                read.backend = arguments
                    .next()
                    .ok_or("--backend needs a URL after it, such as memory:")?;
            } else if let Some(url) = argument.strip_prefix("--backend=") {
                url.clone_into(&mut read.backend);
            } else if argument.starts_with('-') {
                return Err(format!("unknown option {argument}"));
            } else {
                read.operands.push(argument);
            }
        }
        match read.operands.get(most_operands) {
            Some(surplus) => Err(format!("{surplus:?} is one argument too many")),
            None => Ok(read),
        }
    }
}

/// Gives the shell the exit code, and shows a failure as a sentence on standard error.
pub(crate) fn exit_code(result: Result<ExitCode, Failure>) -> ExitCode {
    result.unwrap_or_else(|failure| {
        eprintln!("error: {failure}");
        ExitCode::FAILURE
    })
}
