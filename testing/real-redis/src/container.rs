//! A server in a container, which the program `redis-container` holds.

use std::{
    env,
    io::{self, BufRead as _, BufReader, Read as _},
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
};

use super::ServerError;

/// The program. It talks to the engine; that needs a hundred crates, which our builds therefore do not
/// need.
const PROGRAM: &str = "redis-container";

/// Names the image.
const IMAGE: &str = "QUEUE_TEST_REDIS_IMAGE";
const USUAL_IMAGE: &str = "redis:7.2";

/// The program holds the container until its input ends, which is the other end of this: also when the
/// whole test process is gone.
#[derive(Debug)]
pub(super) struct Container {
    url: String,
    _holder: Child,
}

impl Container {
    pub(super) fn start() -> Result<Self, ServerError> {
        let image = env::var(IMAGE).unwrap_or_else(|_| USUAL_IMAGE.to_owned());
        let mut holder = Command::new(PROGRAM)
            .arg(&image)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // In its own process group, because a Ctrl-C would end it while tests still run.
            .process_group(0)
            .spawn()
            .map_err(lacking)?;
        let mut url = String::new();
        if let Some(output) = &mut holder.stdout {
            let failed = |error| ServerError::tried("cannot read what redis-container says", error);
            BufReader::new(output).read_line(&mut url).map_err(failed)?;
        }
        if url.is_empty() {
            let mut why = String::new();
            if let Some(output) = &mut holder.stderr {
                // Unreadable output is missing from the error.
                let _ = output.read_to_string(&mut why);
            }
            let _ = holder.wait();
            return Err(ServerError::new(why.trim_end()));
        }
        Ok(Self {
            url: url.trim_end().to_owned(),
            _holder: holder,
        })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }
}

fn lacking(error: io::Error) -> ServerError {
    let what = format!(
        "a container needs the program `{PROGRAM}` in the PATH: install it by `cargo install --path \
         redis-container`, or run `scripts/containers`, which builds it"
    );
    ServerError::tried(&what, error)
}
