//! The password changes while the program works: it loses no number.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use real_redis::Server;
use rustix::process::{Pid, Signal, kill_process};

type Test = Result<(), Box<dyn std::error::Error>>;

const PROGRAM: &str = env!("CARGO_BIN_EXE_queue-kit-rotation");

/// Ends the program with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_worker_goes_on_while_its_password_changes() -> Test {
    let rules = Command::new(PROGRAM).arg("rules").output()?.stdout;
    let server = Server::builder()
        .with_user("worker", "password-0", String::from_utf8(rules)?.trim())
        .start()?;
    let file =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("password-{}", std::process::id()));
    fs::write(&file, "password-0\n")?;
    let program = Command::new(PROGRAM)
        .env("REDIS_URL", server.url_as("worker", "none"))
        .env("PASSWORD_FILE", &file)
        .stdout(Stdio::piped())
        .spawn()?;
    let mut program = Running(program);
    let stdout = program.0.stdout.take().expect("a pipe");
    let mut lines = BufReader::new(stdout).lines();
    let mut seen = BTreeSet::new();
    // A number whose connection ends comes again when its lease does, and so later than others.
    let mut reads_all_below = |end: u64| -> Test {
        while seen.range(..end).count() < usize::try_from(end)? {
            seen.insert(lines.next().expect("it works")?.parse::<u64>()?);
        }
        Ok(())
    };
    for rotation in 1..=3 {
        reads_all_below(rotation * 10)?;
        let password = format!("password-{rotation}");
        server.ask::<()>(&[
            "ACL",
            "SETUSER",
            "worker",
            "resetpass",
            &format!(">{password}"),
        ])?;
        server.ask::<()>(&["CLIENT", "KILL", "TYPE", "normal"])?;
        // Later than the server's: until then each login is refused.
        fs::write(&file, password)?;
    }
    reads_all_below(100)?;
    kill_process(Pid::from_child(&program.0), Signal::TERM)?;
    let last = lines.last().expect("its count")?;
    assert!(last.ends_with(" done"), "{last}");
    assert!(program.0.wait()?.success());
    fs::remove_file(&file)?;
    Ok(())
}
