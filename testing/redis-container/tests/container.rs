//! Containers on a real engine: they serve, errors name the failed step, and none is left.
//! `scripts/containers` brings an engine and an image.

use std::{
    collections::HashMap,
    env,
    error::Error,
    io::{self, BufRead as _, BufReader, Write as _},
    net::TcpStream,
    process::{self, Child, Command, Stdio},
};

use redis_container::Container;
use testcontainers::{
    bollard::{
        models::ContainerConfig,
        query_parameters::{
            CommitContainerOptionsBuilder, ListContainersOptionsBuilder, RemoveImageOptions,
        },
    },
    core::client::docker_client_instance,
};

type Test = Result<(), Box<dyn Error>>;

const PROGRAM: &str = env!("CARGO_BIN_EXE_redis-container");

fn image() -> String {
    env::var("QUEUE_TEST_REDIS_IMAGE").unwrap_or_else(|_| "redis:7.2".to_owned())
}

/// The server's answer to PING.
fn ping(url: &str) -> io::Result<String> {
    let mut server = TcpStream::connect(url.trim_start_matches("redis://"))?;
    server.write_all(b"PING\r\n")?;
    let mut answer = String::new();
    BufReader::new(server).read_line(&mut answer)?;
    Ok(answer)
}

/// The ids of the containers that this process started, also of stopped ones.
async fn containers_of(process: u32) -> Result<Vec<String>, Box<dyn Error>> {
    let name = format!("redis-container-{process}-");
    let filters = HashMap::from([("name", vec![name])]);
    let all = ListContainersOptionsBuilder::new()
        .all(true)
        .filters(&filters);
    let engine = docker_client_instance().await?;
    let found = engine.list_containers(Some(all.build())).await?;
    Ok(found.into_iter().filter_map(|one| one.id).collect())
}

#[tokio::test]
async fn a_server_is_in_a_container_until_it_is_dropped() -> Test {
    let server = Container::start(&image())?;
    assert_eq!(containers_of(process::id()).await?.len(), 1);
    assert_eq!(ping(server.url())?, "+PONG\r\n");
    drop(server);
    assert_eq!(containers_of(process::id()).await?.len(), 0);
    Ok(())
}

fn held(mut command: Command) -> Result<(Child, String), Box<dyn Error>> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let said = child.stdout.take().expect("its output is a pipe");
    for line in BufReader::new(said).lines() {
        if let Some((_, place)) = line?.split_once("redis://") {
            return Ok((child, format!("redis://{place}")));
        }
    }
    Err(format!("it never says where the server is; {}", child.wait()?).into())
}

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(arguments);
    command
}

#[tokio::test]
async fn the_program_removes_its_container_when_nobody_needs_it() -> Test {
    for signal in [None, Some("INT"), Some("TERM")] {
        let (mut child, url) = held(program(&[&image()]))?;
        assert_eq!(ping(&url)?, "+PONG\r\n");
        assert_eq!(containers_of(child.id()).await?.len(), 1);
        match signal {
            None => drop(child.stdin.take()),
            Some(signal) => {
                let kill = ["-c", "kill -s $1 $2", "sh", signal, &child.id().to_string()];
                assert!(Command::new("sh").args(kill).status()?.success());
            }
        }
        assert!(child.wait()?.success(), "{signal:?}");
        assert_eq!(containers_of(child.id()).await?.len(), 0, "{signal:?}");
    }
    Ok(())
}

/// Commands of images that cannot start, or that end, and the words of the error.
const BROKEN: [(&str, &[&str]); 2] = [
    (r#"ENTRYPOINT ["/nothing"]"#, &["/nothing"]),
    (
        r#"CMD ["--no-such-setting", "1"]"#,
        &["it ended", "no-such-setting"],
    ),
];

#[tokio::test]
async fn an_image_without_a_server_says_so_and_leaves_no_container() -> Test {
    let engine = docker_client_instance().await?;
    let (mut sound, _) = held(program(&[&image()]))?;
    let container = containers_of(sound.id()).await?.remove(0);
    for (number, (change, words)) in BROKEN.iter().enumerate() {
        let name = format!("redis-container-test-{}", process::id());
        let tag = number.to_string();
        let broken = CommitContainerOptionsBuilder::new().container(&container);
        let broken = broken.repo(&name).tag(&tag).changes(change).build();
        engine
            .commit_container(broken, ContainerConfig::default())
            .await?;
        let image = format!("{name}:{tag}");
        let mut program = program(&[&image]);
        let child = program
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let process = child.id();
        let output = child.wait_with_output()?;
        engine
            .remove_image(&image, None::<RemoveImageOptions>, None)
            .await?;
        let said = String::from_utf8(output.stderr)?;
        assert!(!output.status.success(), "{said}");
        for word in [&[&*format!("{image:?}")], *words].concat() {
            assert!(said.contains(word), "{word} is not in: {said}");
        }
        assert_eq!(containers_of(process).await?.len(), 0, "{change}");
    }
    drop(sound.stdin.take());
    assert!(sound.wait()?.success());
    Ok(())
}

#[test]
fn nonsense_is_refused_by_its_name() {
    for image in ["", "Redis:7", "redis:", "redis 7", "redis::7", "-"] {
        let error = Container::start(image)
            .expect_err("it names no image")
            .to_string();
        assert!(error.contains(&format!("{image:?}")), "{error}");
    }
}

#[test]
fn without_an_engine_the_error_says_what_to_do() -> Test {
    for host in [
        "unix:///nowhere/docker.sock",
        "tcp://127.0.0.1:1",
        "nonsense",
    ] {
        let output = program(&["redis:7.2"]).env("DOCKER_HOST", host).output()?;
        let said = String::from_utf8(output.stderr)?;
        assert!(
            !output.status.success() && output.stdout.is_empty(),
            "{said}"
        );
        for word in [&format!("DOCKER_HOST={host}"), "Start one"] {
            assert!(said.contains(word), "{word} is not in: {said}");
        }
    }
    Ok(())
}

#[test]
fn the_program_asks_for_one_image() -> Test {
    for arguments in [&[][..], &["redis:7.2", "valkey/valkey:8"]] {
        let output = program(arguments).output()?;
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8(output.stderr)?.contains("name one image"));
    }
    Ok(())
}
