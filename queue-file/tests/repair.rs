//! Repairs of damaged folders: nothing is written without consent, and all is there but the named losses.

use std::{collections::BTreeMap, fs, sync::Arc, time::Duration};

use queue_core::{
    AnyQueue, Backend, Claim, ErrorKind, Page, Place, Push, QueueName, ReliableConfig,
    ReliableQueue, Removal, Timestamp,
};
use queue_file::{
    Disk, FileBackend, SyncMode,
    repair::{self, Damage},
    simulated::SimulatedDisk,
};

const SEGMENT: u64 = 64 * 1024;
const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const HOUR: Duration = Duration::from_secs(3_600);

fn open(disk: &SimulatedDisk) -> queue_core::Result<FileBackend> {
    FileBackend::with_segments(Arc::new(disk.clone()), SyncMode::Always, SEGMENT, NOW)
}

async fn queue(backend: &FileBackend, name: &str) -> Arc<dyn ReliableQueue> {
    let config = ReliableConfig::default();
    let name = name.parse().unwrap();
    let queue = backend.open_reliable(&name, &config);
    queue.await.expect("opens")
}

async fn push(queue: &dyn ReliableQueue, body: String) {
    queue.push(&[Push::new(body)]).await.expect("pushes");
}

fn look(disk: &SimulatedDisk) -> Option<Damage> {
    repair::look_on_disk(disk).expect("it can be read")
}

fn mend(disk: &SimulatedDisk, damage: &Damage) -> queue_core::Result<()> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    repair::mend_on_disk(&disk, SEGMENT, damage)
}

/// The bytes of all files.
fn bytes(disk: &SimulatedDisk) -> Vec<(u64, Vec<u8>)> {
    let files = disk.files().unwrap().into_iter();
    files
        .map(|file| (file, disk.read(file, u64::MAX).unwrap()))
        .collect()
}

/// The ready bodies of each queue.
async fn bodies(backend: &FileBackend) -> BTreeMap<String, Vec<String>> {
    let mut all = BTreeMap::new();
    let listed = backend.queues(None, 100.try_into().unwrap()).await.unwrap();
    for info in listed {
        let stored = backend.open_stored(&info.name).await.unwrap().unwrap();
        let AnyQueue::Reliable(queue) = stored.queue else {
            panic!("{info:?}")
        };
        let page = queue.peek(Place::Ready, Page::first(1_000)).await.unwrap();
        let bodies = page.entries.into_iter().map(|entry| entry.message.body);
        let bodies = bodies.map(|body| String::from_utf8(body.to_vec()).unwrap());
        all.insert(info.name.to_string(), bodies.collect());
    }
    all
}

/// The place of a text in a file.
fn find(disk: &SimulatedDisk, text: &str) -> (u64, usize) {
    let found = bytes(disk).into_iter().find_map(|(file, bytes)| {
        let mut windows = bytes.windows(text.len());
        Some((file, windows.position(|part| part == text.as_bytes())?))
    });
    found.expect(text)
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_is_well_or_torn_needs_no_repair() {
    let disk = SimulatedDisk::new(1);
    assert_eq!(look(&disk), None);
    let backend = open(&disk).unwrap();
    let jobs = queue(&backend, "jobs").await;
    for number in 0..20 {
        push(&*jobs, format!("body {number}")).await;
    }
    assert_eq!(look(&disk), None);
    disk.crash_at(disk.operations() + 1);
    jobs.push(&[Push::new("torn")]).await.unwrap_err();
    assert_eq!(look(&disk.restart()), None);
}

#[tokio::test(start_paused = true)]
async fn a_flipped_bit_takes_queues_back_and_the_report_says_how_far() {
    let disk = SimulatedDisk::new(2);
    let backend = open(&disk).unwrap();
    let (jobs, mails) = (
        queue(&backend, "jobs").await,
        queue(&backend, "mails").await,
    );
    for number in 0..10 {
        push(&*jobs, format!("job {number};")).await;
        push(&*mails, format!("mail {number};")).await;
    }
    // A queue that was made behind the damage, and a store of once keys.
    let late = queue(&backend, "late").await;
    push(&*late, "late".to_owned()).await;
    let once = backend
        .open_once(&"effects".parse().unwrap())
        .await
        .unwrap();
    let Claim::Claimed(token) = once.claim(b"key", HOUR).await.unwrap() else {
        panic!("it is new")
    };
    once.finish(b"key", token, HOUR).await.unwrap();
    drop((jobs, mails, late, once, backend));
    let (file, byte) = find(&disk, "job 5;");
    let disk = disk.restart();
    disk.flip(file, byte, 3);
    let (before, refused) = (bytes(&disk), open(&disk).unwrap_err());
    assert_eq!(refused.kind(), ErrorKind::Configuration);
    assert!(refused.to_string().contains("`qk repair`"), "{refused}");

    let damage = look(&disk).expect("it is damaged");
    assert!(bytes(&disk) == before, "a look wrote");
    let [place] = &*damage.places else {
        panic!("{damage:?}")
    };
    assert_eq!((&*place.file, place.records), ("journal-000000000001", 1));
    assert!(place.byte as usize <= byte && byte - (place.byte as usize) < 200);
    assert!(
        refused
            .to_string()
            .contains(&format!("at byte {},", place.byte)),
        "{refused}"
    );
    let losses = damage.losses.iter();
    let losses: Vec<_> = losses
        .map(|loss| {
            (
                loss.name.as_ref().unwrap().as_str(),
                loss.records,
                loss.messages,
            )
        })
        .collect();
    // The record of job 5 itself is the one that cannot be read.
    assert_eq!(losses, [("jobs", 4, 4), ("mails", 5, 5)]);
    assert_eq!(damage.whole, 2);

    // Consent to another loss is none.
    let mut other = damage.clone();
    other.losses[0].records += 1;
    mend(&disk, &other).unwrap_err();
    assert!(bytes(&disk) == before, "it wrote without consent");

    mend(&disk, &damage).expect("is repaired");
    let aside: Vec<_> = disk.aside().into_iter().collect();
    assert!(before.starts_with(&aside), "the journal is kept");
    assert_eq!(look(&disk), None);
    let backend = open(&disk.restart()).expect("it opens");
    let bodies = bodies(&backend).await;
    let five = |name: &str| (0..5).map(|number| format!("{name} {number};")).collect();
    let expected = [
        ("jobs".to_owned(), five("job")),
        ("late".to_owned(), vec!["late".to_owned()]),
        ("mails".to_owned(), five("mail")),
    ];
    assert_eq!(bodies, BTreeMap::from(expected));
    let once = backend
        .open_once(&"effects".parse().unwrap())
        .await
        .unwrap();
    assert!(matches!(
        once.claim(b"key", HOUR).await.unwrap(),
        Claim::Done
    ));
    // It goes on as any folder.
    let jobs = queue(&backend, "jobs").await;
    push(&*jobs, "new".to_owned()).await;
    assert_eq!(jobs.depth().await.unwrap().ready, 6);
}

/// The damage is in any byte of the journal, or a file is missing. The repaired folder opens, and a queue that is not among
/// the losses has all its messages.
#[tokio::test(start_paused = true)]
async fn any_damage_is_repaired_and_the_others_lose_nothing() {
    let disk = SimulatedDisk::new(3);
    let backend = open(&disk).unwrap();
    let jobs = queue(&backend, "jobs").await;
    let mut all = BTreeMap::new();
    for round in 0..150 {
        // A queue of each name is removed and made again, now and then.
        let name = format!("queue-{}", round % 5);
        let other = queue(&backend, &name).await;
        push(&*other, format!("{name} {round}")).await;
        push(&*jobs, format!("job {round} {}", "x".repeat(900))).await;
        let leased = jobs.lease(1.try_into().unwrap(), HOUR).await.unwrap();
        let ack = queue_core::Settlement::ack(leased.deliveries[0].receipt);
        jobs.settle(&[ack]).await.unwrap();
        if round % 40 == 37 {
            let name: QueueName = name.parse().unwrap();
            assert!(backend.remove(&name, Removal::EvenIfLeased).await.unwrap());
        }
    }
    all.append(&mut bodies(&backend).await);
    drop((jobs, backend));
    let disk = disk.restart();
    assert!(
        disk.written().len() > 2,
        "it has segments: {:?}",
        disk.written()
    );
    let mut repaired = 0;
    let places = disk.written().into_iter().flat_map(|(file, length)| {
        let step = (length / 60).max(1);
        (0..32.min(length))
            .step_by(8)
            .chain((32..length).step_by(step))
            .map(move |at| (file, at))
    });
    let files = disk
        .files()
        .unwrap()
        .into_iter()
        .map(|file| (file, usize::MAX));
    for (file, place) in places.chain(files) {
        let damaged = disk.restart();
        match place {
            usize::MAX => damaged.remove(file).unwrap(),
            place => damaged.flip(file, place, (place % 8) as u8),
        }
        let Some(damage) = look(&damaged) else {
            // A torn end, or nothing that counts.
            open(&damaged).unwrap_or_else(|error| panic!("{file} {place}: {error}"));
            continue;
        };
        open(&damaged).expect_err("it is refused");
        // A crash in the repair needs another repair, which loses no more.
        let crashing = damaged.restart();
        crashing.crash_at(crashing.operations() + 1 + place as u64 % 8);
        let mended = match mend(&crashing, &damage) {
            Ok(()) => crashing.restart(),
            Err(_) => {
                let crashed = crashing.restart();
                if let Some(damage) = look(&crashed) {
                    mend(&crashed, &damage).expect("is repaired");
                }
                crashed
            }
        };
        let backend = open(&mended).unwrap_or_else(|error| panic!("{file} {place}: {error:?}"));
        let left = bodies(&backend).await;
        let losses: Vec<_> = damage
            .losses
            .iter()
            .filter_map(|loss| loss.name.clone())
            .collect();
        for (name, bodies) in &all {
            let is_lost = losses.iter().any(|lost| lost.as_str() == name);
            let is_nameless = damage.losses.iter().any(|loss| loss.name.is_none());
            let is_lost = is_lost || is_nameless && !left.contains_key(name);
            let is_whole = left.get(name) == Some(bodies);
            assert!(is_whole || is_lost, "{file} {place}: {name}: {damage:?}");
        }
        repaired += 1;
    }
    assert!(repaired > 100, "only {repaired}");
}

#[tokio::test]
async fn a_folder_in_use_is_not_repaired_and_a_damaged_one_keeps_its_journal() {
    let parent = std::env::temp_dir().join(format!("queue-file-repair-{}", std::process::id()));
    let _ = fs::remove_dir_all(&parent);
    fs::create_dir(&parent).unwrap();
    let folder = parent.join("queues");
    assert!(repair::look(&folder).is_err());
    let backend = FileBackend::open(&folder, SyncMode::Always).unwrap();
    let jobs = queue(&backend, "jobs").await;
    for number in 0..5 {
        push(&*jobs, format!("job {number};")).await;
    }
    let held = repair::look(&folder).unwrap_err();
    assert!(
        held.to_string().contains("belongs to the process"),
        "{held}"
    );
    drop((jobs, backend));
    assert_eq!(repair::look(&folder).unwrap(), None);
    let journal = folder.join("journal-000000000001");
    let mut bytes = fs::read(&journal).unwrap();
    let at = bytes.windows(6).position(|part| part == b"job 3;").unwrap();
    bytes[at] ^= 1;
    fs::write(&journal, &bytes).unwrap();
    let damage = repair::look(&folder).unwrap().expect("it is damaged");
    repair::mend(&folder, &damage).expect("is repaired");
    let kept = folder.join("journal-000000000001.damaged");
    assert!(fs::read(kept).unwrap() == bytes, "the journal is kept");
    let backend = FileBackend::open(&folder, SyncMode::Always).unwrap();
    assert_eq!(
        queue(&backend, "jobs").await.depth().await.unwrap().ready,
        3
    );
    drop(backend);
    fs::remove_dir_all(parent).unwrap();
}
