//! The server in a container that the tests of a process share. `scripts/containers` brings an engine, an
//! image and the program `redis-container`.

use std::{
    env,
    error::Error,
    io::{BufRead as _, BufReader, Read as _},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use real_redis::Place;
use redis::{Client, Connection, RedisResult};

type Test = Result<(), Box<dyn Error>>;

const CHILD: &str = "REAL_REDIS_TEST_KILLED";

/// The longest wait for the engine to remove a container that nobody waits for.
const PATIENCE: Duration = Duration::from_secs(60);

fn connect(url: &str) -> RedisResult<Connection> {
    Client::open(url)?.get_connection()
}

/// The test that the next one kills. Alone it does nothing.
#[test]
fn of_a_child() -> Test {
    if env::var_os(CHILD).is_some() {
        println!("\nplace: {}", Place::fresh()?.url());
        // This ends with its parent process.
        std::io::stdin().read_to_end(&mut Vec::new())?;
    }
    Ok(())
}

#[test]
#[ignore = "it needs a Docker engine: scripts/containers"]
fn a_killed_test_leaves_no_container() -> Test {
    let mut child = Command::new(env::current_exe()?)
        .args(["--exact", "of_a_child", "--nocapture"])
        .env_remove("QUEUE_TEST_REDIS_URL")
        .env("QUEUE_TEST_REDIS", "container")
        .env(CHILD, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let said = BufReader::new(child.stdout.take().expect("its output is a pipe"));
    let places = said.lines().map_while(Result::ok);
    let mut places = places.filter_map(|line| Some(line.split_once("redis://")?.1.to_owned()));
    let url = format!(
        "redis://{}",
        places.next().expect("it says where the server is")
    );
    connect(&url)?;
    child.kill()?;
    child.wait()?;
    let start = Instant::now();
    while connect(&url).is_ok() {
        assert!(
            start.elapsed() < PATIENCE,
            "the server of a killed test runs"
        );
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}
