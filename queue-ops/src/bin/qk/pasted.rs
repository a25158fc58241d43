//! Commands that `qk` prints do what they say, whatever others call their groups, holders and schedules.

use std::{
    ffi::OsString,
    fs,
    os::unix::{ffi::OsStringExt, fs::PermissionsExt},
    path::PathBuf,
    process::Command as Program,
    time::Duration,
};

use clap::Parser;
use proptest::{collection::vec, prelude::*};
use queue_core::{
    Bytes, ChildrenRecord, GroupedConfig, GroupedQueueExt, Holder, Json, Leasing, LeasingExt,
    MessageId, Push, QueueConfig, QueueName, Queues, ReliableConfig, Settlement, StepRecord, Steps,
    is_unprintable,
};
use queue_memory::MemoryBackend;
use queue_ops::{Diagnosis, Problem, ShellCommand, config_finding, diagnose, schedule_findings};
use queue_schedule::{Periodic, Scheduler, Schedules as Stored};
use tokio::time::sleep;

use crate::{
    arguments::{Arguments, Chosen, Command, Dead, Rule, Schedules},
    output::Output,
    without_login,
};

const HOUR: Duration = Duration::from_secs(3_600);
/// A name that looks like an option.
const QUEUE: &str = "-orders";
const URL: &str = "redis://web's server:6379/'; touch F; echo '";

/// A shell in which `qk` writes its arguments, and an empty folder.
struct Shell(PathBuf);

impl Shell {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("qk-{name}-{}", std::process::id()));
        fs::create_dir_all(folder.join("empty")).unwrap();
        let qk = folder.join("qk");
        fs::write(&qk, "#!/bin/sh\nprintf '%s\\0' \"$@\"\n").unwrap();
        fs::set_permissions(&qk, fs::Permissions::from_mode(0o755)).unwrap();
        Self(folder)
    }

    /// The call that a pasted command makes.
    fn paste(&self, line: &str) -> Command {
        assert!(!line.contains(is_unprintable), "{line:?}");
        let empty = self.0.join("empty");
        let shell = Program::new("sh")
            .args(["-c", line])
            .env("PATH", format!("{}:/usr/bin:/bin", self.0.display()))
            .current_dir(&empty)
            .output()
            .unwrap();
        assert_eq!(fs::read_dir(&empty).unwrap().count(), 0, "{line}");
        let words = shell.stdout.split(|byte| *byte == 0);
        let words = words.map(|word| OsString::from_vec(word.to_vec()));
        let mut words: Vec<OsString> = [OsString::from("qk")].into_iter().chain(words).collect();
        words.pop();
        let arguments = Arguments::try_parse_from(words);
        let arguments = arguments.unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(arguments.url, URL, "{line}");
        arguments.command
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn output() -> Output {
    let globals = ShellCommand::new("").option("url", URL).text().unwrap();
    Output {
        json: false,
        globals: globals.trim_start_matches("qk ").to_owned(),
    }
}

/// The command of a finding, which is printed on one line.
fn command(diagnosis: Diagnosis, problem: Problem) -> Option<String> {
    let diagnosis = output().complete(diagnosis);
    for finding in &diagnosis.findings {
        assert!(!finding.to_string().contains(is_unprintable), "{finding:?}");
    }
    let mut found = diagnosis.findings.into_iter();
    let finding = found.find(|one| one.problem == problem);
    finding.expect("found").remedy.expect("a remedy").command
}

async fn paused_group(key: &Bytes) -> Diagnosis {
    let queues = Queues::new(MemoryBackend::new());
    let orders = queues.grouped(QUEUE).open::<u64>().await.unwrap();
    let keyed = Push::from("1").with_group(key.clone());
    orders.queue().push(&[keyed]).await.unwrap();
    let paused = orders.queue().pause_group(key.clone(), HOUR);
    paused.await.unwrap();
    sleep(Duration::from_secs(2)).await;
    diagnose(&**queues.backend(), QUEUE).await.unwrap()
}

async fn busy_group(key: &Bytes) -> Diagnosis {
    let queues = Queues::new(MemoryBackend::new());
    let config = GroupedConfig::loose(100);
    let orders = queues
        .grouped(QUEUE)
        .config(config)
        .open::<u64>()
        .await
        .unwrap();
    let keyed = Push::from("1").with_group(key.clone());
    let keyed = [keyed.clone(), keyed.clone(), keyed];
    orders.queue().push(&keyed).await.unwrap();
    let leased = orders.queue().receive(3, HOUR, Duration::ZERO).await;
    assert_eq!(leased.unwrap().len(), 3);
    let other = Push::from("1").with_group("another group, of the others");
    orders.queue().push(&[other]).await.unwrap();
    sleep(Duration::from_secs(2)).await;
    diagnose(&**queues.backend(), QUEUE).await.unwrap()
}

async fn long_lease(holder: &str) -> Diagnosis {
    let queues = Queues::new(MemoryBackend::new());
    let orders = queues.reliable(QUEUE).open::<u64>().await.unwrap();
    orders
        .queue()
        .push_one(Push::new("1"))
        .await
        .unwrap()
        .id()
        .unwrap();
    let (holder, one) = (Holder::new(holder).unwrap(), 1.try_into().unwrap());
    let leased = orders
        .queue()
        .settle_and_lease(&[], one, 20 * HOUR, Some(holder));
    assert_eq!(leased.await.unwrap().1.deliveries.len(), 1);
    diagnose(&**queues.backend(), QUEUE).await.unwrap()
}

async fn disabled_schedule(ring: &str, name: &str) -> Diagnosis {
    let queues = Queues::new(MemoryBackend::new());
    queues.reliable(QUEUE).open::<u64>().await.unwrap();
    let stored = Stored::open(&queues, ring).await.unwrap();
    let periodic = Periodic::every(name, HOUR).unwrap();
    let mut scheduler = Scheduler::new(&stored);
    let added = scheduler.add_push(periodic, QUEUE, |_| Ok(Push::new("1")));
    added.await.unwrap();
    assert!(stored.disable(name).await.unwrap());
    let found = schedule_findings(queues.backend().clone(), ring, QUEUE);
    let mut diagnosis = diagnose(&**queues.backend(), QUEUE).await.unwrap();
    diagnosis.add(found.await.unwrap());
    diagnosis
}

fn run<T>(future: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().start_paused(true).build().unwrap();
    runtime.block_on(future)
}

/// Bytes that a shell treats specially, more often than others.
fn key() -> impl Strategy<Value = Vec<u8>> {
    let special = prop::sample::select(&b"';&|`$(){}<>\"\\#!*?~ -\n\t\x1b%="[..]);
    prop_oneof![
        vec(prop_oneof![special, any::<u8>()], 1..24),
        "-[ -~]{1,12}".prop_map(String::into_bytes),
    ]
}

fn text() -> impl Strategy<Value = String> {
    let special = prop::sample::select(
        &[
            "'; touch F; echo '",
            "--",
            "\u{202e}",
            "\u{9b}",
            "$(touch F)",
        ][..],
    );
    let special = special.prop_map(str::to_owned);
    vec(prop_oneof![special, ".{1,3}", "[ -~]{1,3}"], 1..6).prop_map(|parts| parts.concat())
}

#[test]
fn a_command_about_a_group_names_that_group() {
    let shell = Shell::new("groups");
    proptest!(ProptestConfig::with_cases(96), |(key in key())| {
        let (key, is_text) = (Bytes::from(key.clone()), std::str::from_utf8(&key).is_ok());
        let resume = command(run(paused_group(&key)), Problem::GroupsHeld);
        let rule = command(run(busy_group(&key)), Problem::BusyGroup);
        let (Some(resume), Some(rule)) = (resume, rule) else {
            let is_shown = is_text && !String::from_utf8_lossy(&key).contains(is_unprintable);
            prop_assert!(!is_shown && (key.contains(&0) || key.ends_with(b"\n")), "{key:?}");
            return Ok(());
        };
        match shell.paste(&resume) {
            Command::Resume { queue, group } => prop_assert_eq!((&*queue, group), (QUEUE, Some(key.clone()))),
            other => panic!("{other:?}"),
        }
        match shell.paste(&rule) {
            Command::Rule(Rule { queue, group, at_once, for_ms, .. }) => {
                prop_assert_eq!((&*queue, group, at_once, for_ms), (QUEUE, key, Some(1), Some(HOUR)));
            }
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn a_command_about_a_holder_names_that_holder() {
    let shell = Shell::new("holders");
    proptest!(ProptestConfig::with_cases(96), |(holder in text())| {
        let Some(release) = command(run(long_lease(&holder)), Problem::LongLeases) else {
            prop_assert!(holder.contains('\0') || holder.ends_with('\n'), "{holder:?}");
            return Ok(());
        };
        match shell.paste(&release) {
            Command::Release(Chosen { queue, ids, holder: named, yes }) => {
                prop_assert_eq!((&*queue, ids.len(), named, yes), (QUEUE, 0, Some(holder), false));
            }
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn a_command_about_a_schedule_names_it_and_its_ring() {
    let shell = Shell::new("schedules");
    proptest!(ProptestConfig::with_cases(96), |(name in text(), own in any::<bool>())| {
        prop_assume!(!name.contains(char::is_control));
        let ring = if own { "-shop:jobs" } else { "schedules" };
        let enable = command(run(disabled_schedule(ring, &name)), Problem::ScheduleDisabled);
        let enable = enable.expect("it has no control characters");
        prop_assert_eq!(enable.contains("--ring"), own, "{}", enable);
        match shell.paste(&enable) {
            Command::Schedules { command: Schedules::Enable { name: named, ring: of } } => {
                prop_assert_eq!((named, &*of.ring), (name, ring));
            }
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn a_command_about_a_setting_names_queue_and_settings() {
    let (mut stored, shell) = (ReliableConfig::default(), Shell::new("settings"));
    stored.leasing.max_attempts = 7;
    let (stored, wanted) = (
        QueueConfig::Reliable(stored),
        QueueConfig::Reliable(ReliableConfig::default()),
    );
    let settings = "max_attempts=5 rate=1/2";
    let finding = config_finding(QUEUE, &stored, &wanted, settings).expect("they differ");
    let queues = Queues::new(MemoryBackend::new());
    let mut diagnosis = run(diagnose(&**queues.backend(), QUEUE)).unwrap();
    diagnosis.add(Some(finding));
    let line = command(diagnosis, Problem::ConfigDiffers).unwrap();
    match shell.paste(&line) {
        Command::Reconfigure {
            queue,
            settings: set,
        } => {
            let set: Vec<String> = set.iter().map(ToString::to_string).collect();
            assert_eq!((&*queue, set.join(" ")), (QUEUE, settings.to_owned()));
        }
        other => panic!("{other:?}"),
    }
}

/// The way out of a dead child, in another queue than the one that is asked about.
#[test]
fn a_command_about_a_child_names_its_queue_and_the_child() {
    let shell = Shell::new("children");
    let diagnosis = run(async {
        let queues = Queues::new(MemoryBackend::new());
        let orders = queues.reliable("orders").open::<u64>().await.unwrap();
        let children = queues.reliable(QUEUE).open::<u64>().await.unwrap();
        let (orders, children) = (orders.queue(), children.queue());
        let mut record = ChildrenRecord::new(QUEUE, 1);
        record.waits = 1;
        record.add(children.push_one("1").await.unwrap().id().unwrap());
        let held = children.receive_one(HOUR, Duration::ZERO).await.unwrap();
        let bury = Settlement::bury(held.unwrap().receipt, "'; touch F; echo '");
        children.settle(&[bury]).await.unwrap();
        let mut steps = Steps::default();
        steps.set("a", 1, StepRecord::Children(record));
        orders.push_one("1").await.unwrap().id().unwrap();
        let held = orders.receive_one(HOUR, Duration::ZERO).await.unwrap();
        let defer = Settlement::defer(held.unwrap().receipt, HOUR);
        let defer = defer.with_state(Json::write(&steps).unwrap());
        orders.settle(&[defer]).await.unwrap();
        diagnose(&**queues.backend(), "orders").await.unwrap()
    });
    let line = command(diagnosis, Problem::ChildDead).unwrap();
    match shell.paste(&line) {
        Command::Dead {
            command: Dead::Revive { choice, .. },
        } => assert_eq!(
            (&*choice.queue, &choice.ids[..]),
            (QUEUE, &[MessageId::new(1)][..])
        ),
        other => panic!("{other:?}"),
    }
}

/// Each command with a queue's name alone.
#[test]
fn a_command_about_a_queue_names_it() {
    let shell = Shell::new("queues");
    let diagnosis = run(async {
        let queues = Queues::new(MemoryBackend::new());
        let orders = queues.reliable(QUEUE).open::<u64>().await.unwrap();
        orders
            .queue()
            .push_one(Push::new("1"))
            .await
            .unwrap()
            .id()
            .unwrap();
        orders.queue().pause().await.unwrap();
        diagnose(&**queues.backend(), QUEUE).await.unwrap()
    });
    let line = command(diagnosis, Problem::Paused).unwrap();
    match shell.paste(&line) {
        Command::Resume { queue, group: None } => assert_eq!(queue, QUEUE),
        other => panic!("{other:?}"),
    }
    let name = QueueName::new(QUEUE).unwrap();
    let asked = ShellCommand::new("peek")
        .value(name.as_str())
        .value("leased");
    match shell.paste(output().command(&asked).trim_matches('`')) {
        Command::Peek { queue, .. } => assert_eq!(queue, QUEUE),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_login_is_not_in_a_command() {
    for (url, shown) in [
        ("redis://me:p%40ss@one:1/3", "redis://one:1/3"),
        ("rediss://:secret@one", "rediss://one"),
        ("redis://one:1", "redis://one:1"),
        (
            "redis+sentinel://u:p@a,b:1,[::1]/orders/3?sentinel_username=s&sentinel_password=q&prefix=shop",
            "redis+sentinel://a,b:1,[::1]/orders/3?prefix=shop",
        ),
        (
            "unix:/run/redis@1.sock?pass=p&user=u",
            "unix:/run/redis@1.sock",
        ),
        ("unix:///run/redis.sock?db=1", "unix:///run/redis.sock?db=1"),
    ] {
        assert_eq!(without_login(url), shown);
    }
}
