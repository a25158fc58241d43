//! The server in a container that the tests of a process share. `scripts/containers` brings an engine, an
//! image and the program `redis-container`.

use super::*;

/// The longest wait for the engine to remove a container in the background.
const PATIENCE: Duration = Duration::from_secs(60);

fn connect(url: &str) -> redis::RedisResult<redis::Connection> {
    redis::Client::open(url)?.get_connection()
}

#[test]
#[ignore = "run by the test that kills it"]
fn a_test_that_waits_to_be_killed() -> Test {
    println!("\nplace: {}", ServerPlace::fresh()?.url());
    // This ends only with its parent process, or when run by hand.
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

#[test]
#[ignore = "it needs a Docker engine: scripts/containers"]
fn a_killed_test_leaves_no_container() -> Test {
    let mut command = run_alone("container::a_test_that_waits_to_be_killed");
    let mut child = command.env("QUEUE_TEST_REDIS", "container").spawn()?;
    let url = line_after(&mut child, "place: ");
    connect(&url)?;
    child.kill()?;
    child.wait()?;
    let start = Instant::now();
    // The program that holds the container has another id, so the server itself shows that it is gone.
    while connect(&url).is_ok() {
        assert!(
            start.elapsed() < PATIENCE,
            "the server of a killed test runs"
        );
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}
