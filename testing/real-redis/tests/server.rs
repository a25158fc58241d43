//! The test servers themselves: their starts, their ends, and their clean-up.

#![cfg(unix)]

#[path = "server/append_only.rs"]
mod append_only;
#[path = "server/container.rs"]
mod container;

use std::{
    env,
    error::Error,
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    panic,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use real_redis::{Server, ServerPlace};
use redis::Commands;

type Test = Result<(), Box<dyn Error>>;

/// The longest wait for another process that ends by itself.
const PATIENCE: Duration = Duration::from_secs(30);

/// Makes a test that runs in its own process freeze its server.
const FROZEN: &str = "QUEUE_SIM_TEST_FROZEN";

fn until(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "never happened: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Whether the process is gone, or is a zombie.
fn is_gone(process: u32) -> bool {
    let kill = Command::new("sh")
        .args(["-c", "kill -0 \"$1\" 2>/dev/null", "sh"])
        .arg(process.to_string())
        .status();
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    !kill.is_ok_and(|status| status.success()) || stat.contains(") Z ")
}

/// Runs one ignored test of this test program in a process of its own.
fn run_alone(test: &str) -> Command {
    let mut command = Command::new(env::current_exe().expect("the test program has a path"));
    command
        .args(["--exact", test, "--ignored", "--nocapture"])
        .env_remove("QUEUE_TEST_REDIS")
        .env_remove("QUEUE_TEST_REDIS_URL")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command
}

/// The text after `mark` in the line that has it.
fn line_after(child: &mut Child, mark: &str) -> String {
    let output = child.stdout.take().expect("its output is a pipe");
    let lines = BufReader::new(output).lines().map_while(Result::ok);
    let marked = lines.filter_map(|line| line.split_once(mark).map(|(_, rest)| rest.to_owned()));
    marked.into_iter().next().expect("it says what it has")
}

#[test]
fn a_server_answers_and_leaves_nothing_behind() -> Test {
    let server = Server::start()?;
    let answer: String = redis::cmd("PING").query(&mut server.connect()?)?;
    assert_eq!(answer, "PONG");
    let process = server.process_id().expect("it runs");
    let folder = server.folder().to_owned();
    assert!(folder.exists());
    drop(server);
    assert!(is_gone(process));
    assert!(!folder.exists());
    Ok(())
}

#[test]
fn a_panic_leaves_nothing_behind() -> Test {
    let server = Server::start()?;
    let process = server.process_id().expect("it runs");
    let folder = server.folder().to_owned();
    let panicked = panic::catch_unwind(panic::AssertUnwindSafe(move || {
        let _server = server;
        panic::resume_unwind(Box::new("a test fails"));
    }));
    assert!(panicked.is_err());
    assert!(is_gone(process));
    assert!(!folder.exists());
    Ok(())
}

#[test]
#[ignore = "run by the tests that kill it"]
fn a_test_that_waits_to_be_killed() -> Test {
    let server = Server::start()?;
    if env::var_os(FROZEN).is_some() {
        server.freeze()?;
    }
    let process = server.process_id().expect("it runs");
    println!("\nserver: {process} {}", server.folder().display());
    std::io::stdout().flush()?;
    // This ends only with its parent process, or when run by hand.
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

fn kill_a_test(mut command: Command) -> Test {
    let mut child = command.spawn()?;
    let said = line_after(&mut child, "server: ");
    let (process, folder) = said.split_once(' ').expect("an id and a folder");
    let process: u32 = process.parse()?;
    assert!(!is_gone(process));
    child.kill()?;
    child.wait()?;
    until("the server of a killed test ends", || is_gone(process));
    until("its folder is removed", || !Path::new(folder).exists());
    Ok(())
}

#[test]
fn a_killed_test_leaves_nothing_behind() -> Test {
    kill_a_test(run_alone("a_test_that_waits_to_be_killed"))
}

#[test]
fn a_killed_test_with_a_frozen_server_leaves_nothing_behind() -> Test {
    let mut command = run_alone("a_test_that_waits_to_be_killed");
    command.env(FROZEN, "1");
    kill_a_test(command)
}

#[test]
fn a_plain_server_forgets_in_a_restart() -> Test {
    let server = Server::start()?;
    server.connect()?.set::<_, _, ()>("key", "value")?;
    server.restart()?;
    let value: Option<String> = server.connect()?.get("key")?;
    assert_eq!(value, None);
    Ok(())
}

#[test]
fn a_frozen_server_answers_when_thawed() -> Test {
    let server = Server::start()?;
    let mut connection = server.connect()?;
    server.freeze()?;
    connection.send_packed_command(&redis::cmd("PING").get_packed_command())?;
    connection.set_read_timeout(Some(Duration::from_millis(10)))?;
    assert!(connection.recv_response().is_err());
    server.thaw()?;
    let mut connection = server.connect()?;
    let answer: String = redis::cmd("PING").query(&mut connection)?;
    assert_eq!(answer, "PONG");
    server.freeze()?;
    server.restart()?;
    Ok(())
}

/// A script that a machine's stall falls into seems to run for long; a server refuses other calls then, by default from
/// 5 s on.
#[test]
fn a_script_in_a_stall_makes_no_other_call_fail() -> Test {
    let server = Server::start()?;
    let mut connection = server.connect()?;
    let script = thread::spawn(move || {
        let mut script = redis::cmd("EVAL");
        script.arg("local n = 0 for k = 1, 2e8 do n = n + k end return 1");
        script.arg(0).query::<u32>(&mut connection)
    });
    let mut other = server.connect()?;
    thread::sleep(Duration::from_millis(100));
    server.freeze()?;
    thread::sleep(Duration::from_millis(5_100));
    server.thaw()?;
    let answer: String = redis::cmd("PING").query(&mut other)?;
    assert_eq!(answer, "PONG");
    assert_eq!(script.join().map_err(|_| "it panicked")??, 1);
    Ok(())
}

#[test]
fn a_port_is_its_own() -> Test {
    let one = Server::builder().with_tcp().start()?;
    let other = Server::builder().with_tcp().start()?;
    assert_ne!(one.port(), other.port());
    for server in [&one, &other] {
        let url = server.tcp_url().expect("it has a port");
        let mut connection = redis::Client::open(url)?.get_connection()?;
        let info: String = redis::cmd("INFO").arg("server").query(&mut connection)?;
        let process = server.process_id().expect("it runs");
        assert!(info.contains(&format!("process_id:{process}\r\n")));
    }
    Ok(())
}

#[test]
fn a_port_that_is_taken_is_not_fought_for() -> Test {
    let server = Server::builder().with_tcp().start()?;
    let port = server.port().expect("it has a port");
    server.kill()?;
    let taken = TcpListener::bind(("127.0.0.1", port))?;
    let message = server.start_again().expect_err("it is taken").to_string();
    assert!(message.contains("Address already in use"), "{message}");
    drop(taken);
    server.start_again()?;
    assert_eq!(server.port(), Some(port));
    Ok(())
}

#[test]
fn a_password_and_a_user_are_asked_for() -> Test {
    let server = Server::builder()
        .with_password("secret-1")
        .with_user("reader", "secret-2", "~app:* +get +ping")
        .with_tcp()
        .start()?;
    server.connect()?.set::<_, _, ()>("app:key", "value")?;
    let tcp = redis::Client::open(server.tcp_url().expect("it has a port"))?;
    let value: String = tcp.get_connection()?.get("app:key")?;
    assert_eq!(value, "value");
    let stranger = format!("unix://{}", server.socket().display());
    let mut stranger = redis::Client::open(stranger)?.get_connection()?;
    assert!(stranger.get::<_, String>("app:key").is_err());
    let mut reader = redis::Client::open(server.url_as("reader", "secret-2"))?.get_connection()?;
    assert_eq!(reader.get::<_, String>("app:key")?, "value");
    assert!(reader.set::<_, _, ()>("app:key", "other").is_err());
    assert!(reader.get::<_, Option<String>>("key").is_err());
    Ok(())
}

#[test]
fn a_replica_follows() -> Test {
    let builder = Server::builder().with_tcp().with_password("secret");
    let primary = builder.start()?;
    primary.connect()?.set::<_, _, ()>("key", "value")?;
    let replica = Server::builder().with_primary(&primary)?.start()?;
    let value: String = replica.connect()?.get("key")?;
    assert_eq!(value, "value");
    let refused = replica.connect()?.set::<_, _, ()>("key", "other");
    let refused = refused.expect_err("a replica takes no writes").to_string();
    assert!(refused.to_lowercase().contains("read only"), "{refused}");
    let portless = Server::start()?;
    assert!(Server::builder().with_primary(&portless).is_err());
    Ok(())
}

#[test]
fn commands_are_counted() -> Test {
    let server = Server::start()?;
    let mut connection = server.connect()?;
    let before = server.command_counts()?;
    for _ in 0..3 {
        connection.incr::<_, _, ()>("key", 1)?;
    }
    redis::cmd("EVAL")
        .arg("return redis.call('INCR', KEYS[1])")
        .arg(1)
        .arg("key")
        .exec(&mut connection)?;
    let since = server.command_counts()?.since(&before);
    assert_eq!(since.of("eval"), 1);
    assert_eq!(since.sum(["incr", "incrby"]), 4);
    Ok(())
}

#[test]
fn a_missing_program_is_an_error_with_instructions() {
    let missing = Server::builder().with_program("no-such-redis").start();
    let message = missing.expect_err("there is no such program").to_string();
    assert!(message.contains("no `no-such-redis`"), "{message}");
    assert!(message.contains("./scripts/test"), "{message}");
    assert!(message.contains("QUEUE_TEST_REDIS_SERVER"), "{message}");
}

#[test]
fn a_bad_configuration_is_an_error_with_the_log() {
    let bad = Server::builder().with_line("no-such-setting 1").start();
    let message = bad.expect_err("it cannot start").to_string();
    assert!(message.contains("no-such-setting"), "{message}");
    let broken = Server::builder().with_line("maxmemory 1mb\nport 1").start();
    assert!(broken.is_err());
    let odd = Server::builder().with_password("two words").start();
    assert!(odd.is_err());
}

#[test]
fn a_place_clears_its_own_keys_only() -> Test {
    let one = ServerPlace::fresh()?;
    let other = ServerPlace::fresh()?;
    assert_ne!(one.prefix(), other.prefix());
    assert_eq!(one.url(), other.url());
    let mut connection = one.connect()?;
    for number in 0..2500 {
        connection.set::<_, _, ()>(format!("{}{number}", one.prefix()), number)?;
    }
    connection.set::<_, _, ()>(format!("{}key", other.prefix()), 1)?;
    let gone = format!("{}*", one.prefix());
    drop(one);
    let left: Vec<String> = connection.keys(gone)?;
    assert_eq!(left, Vec::<String>::new());
    let kept: Vec<String> = connection.keys(format!("{}*", other.prefix()))?;
    assert_eq!(kept.len(), 1);
    Ok(())
}

#[test]
#[ignore = "run by the test that names a server"]
fn a_test_that_asks_for_a_place() -> Test {
    println!("\nplace: {}", ServerPlace::fresh()?.url());
    Ok(())
}

#[test]
fn a_place_is_on_the_server_that_is_named() -> Test {
    let server = Server::start()?;
    let mut command = run_alone("a_test_that_asks_for_a_place");
    let output = command.env("QUEUE_TEST_REDIS_URL", server.url()).output()?;
    let said = String::from_utf8(output.stdout)?;
    let place = format!("\nplace: {}\n", server.url());
    assert!(output.status.success() && said.contains(&place), "{said}");
    Ok(())
}

/// The message of a test that asks for a place under these variables, and gets none.
fn refused(variables: &[(&str, &str)]) -> Result<String, Box<dyn Error>> {
    let mut command = run_alone("a_test_that_asks_for_a_place");
    let output = command
        .envs(variables.iter().copied())
        .stderr(Stdio::piped())
        .output()?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(!output.status.success(), "{said}");
    Ok(said)
}

#[test]
fn a_place_that_cannot_be_says_why() -> Test {
    let unknown = refused(&[("QUEUE_TEST_REDIS", "vessel")])?;
    assert!(unknown.contains("=vessel"), "{unknown}");
    assert!(unknown.contains("=container"), "{unknown}");

    let container = ("QUEUE_TEST_REDIS", "container");
    let lacking = refused(&[container, ("PATH", "/nowhere")])?;
    assert!(lacking.contains("`redis-container`"), "{lacking}");
    assert!(lacking.contains("cargo install"), "{lacking}");

    let existing = ("QUEUE_TEST_REDIS_URL", "redis://127.0.0.1");
    let two = refused(&[container, existing])?;
    assert!(
        two.contains("QUEUE_TEST_REDIS_URL and QUEUE_TEST_REDIS"),
        "{two}"
    );
    Ok(())
}

#[test]
fn a_sentinel_knows_its_primary() -> Test {
    let primary = Server::builder().with_tcp().start()?;
    let sentinel = Server::builder()
        .with_tcp()
        .with_watch("orders", &primary, 1)?
        .start()?;
    let mut connection = sentinel.connect()?;
    let mut ask = redis::cmd("SENTINEL");
    let ask = ask.arg("GET-MASTER-ADDR-BY-NAME").arg("orders");
    let (_, port): (String, u16) = ask.query(&mut connection)?;
    assert_eq!(Some(port), primary.port());
    Ok(())
}
