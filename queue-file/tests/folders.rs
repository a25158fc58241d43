//! Folders that cannot be opened: a clear error, and nothing is changed.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf, thread, time::Duration};

use queue_core::{Backend, ErrorKind, LeasingExt, Push, ReliableConfig};
use queue_file::{
    FileBackend, SyncMode,
    planted::{Bug, plant},
};
use queue_testing::disk::SmallDisk;

/// A folder for one test.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("queue-file-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).expect("a folder");
        Self(path)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn refused(&self) -> String {
        let error = FileBackend::open(&self.0, SyncMode::Always).expect_err("is refused");
        assert_eq!(error.kind(), ErrorKind::Configuration, "{error:?}");
        let text = queue_core::with_sources(&error);
        assert!(text.contains(&self.0.display().to_string()), "{text}");
        text
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::set_permissions(&self.0, fs::Permissions::from_mode(0o755));
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_second_owner_is_told_who_has_the_folder() {
    let folder = Folder::new("owner");
    let first = FileBackend::open(&folder.0, SyncMode::Always).expect("opens");
    let error = folder.refused();
    let owner = format!("belongs to the process {}", std::process::id());
    assert!(error.contains(&owner), "{error}");
    drop(first);
    drop(FileBackend::open(&folder.0, SyncMode::Always).expect("the folder is free"));
}

#[test]
fn a_lock_that_is_not_held_is_found() {
    let folder = Folder::new("lockless");
    let _first = FileBackend::open(&folder.0, SyncMode::Always).expect("opens");
    plant(Some(Bug::LockIsNotHeld));
    let second = FileBackend::open(&folder.0, SyncMode::Always);
    plant(None);
    assert!(second.is_ok(), "then the test above would fail");
}

#[test]
fn a_file_in_place_of_a_folder_is_refused() {
    let folder = Folder::new("file");
    let file = folder.0.join("file");
    fs::write(&file, "mine").unwrap();
    let error = FileBackend::open(&file, SyncMode::Always).expect_err("is refused");
    assert!(error.to_string().contains("is a file"), "{error}");
    assert_eq!(fs::read_to_string(file).unwrap(), "mine");
}

#[test]
fn a_folder_of_another_program_is_refused_and_left_alone() {
    let folder = Folder::new("foreign");
    fs::write(folder.0.join("notes.txt"), "mine").unwrap();
    let error = folder.refused();
    assert!(
        error.contains("files of another program (notes.txt)"),
        "{error}"
    );
    assert_eq!(folder.names(), ["notes.txt"]);
}

#[test]
fn another_format_is_refused_and_left_alone() {
    let folder = Folder::new("format");
    let text = "queues of queue-kit, format 999\n";
    fs::write(folder.0.join("queue-kit.format"), text).unwrap();
    let error = folder.refused();
    assert!(
        error.contains("has the format 999, and this version reads 1"),
        "{error}"
    );
    assert_eq!(folder.names(), ["queue-kit.format"]);
}

#[test]
fn a_folder_without_a_parent_is_refused() {
    let folder = Folder::new("parent");
    let error = FileBackend::open(folder.0.join("a/b"), SyncMode::Always).expect_err("is refused");
    assert!(error.to_string().contains("cannot be made"), "{error}");
    assert!(folder.names().is_empty());
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_without_rights_is_refused() {
    use rustix::{
        process::{Uid, geteuid},
        thread::set_thread_res_uid,
    };

    let folder = Folder::new("rights");
    fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o555)).unwrap();
    thread::scope(|scope| {
        let opens = scope.spawn(|| {
            // The superuser may write anywhere. Only this thread becomes somebody else.
            if geteuid().is_root() {
                let nobody = Uid::from_raw(65_534);
                set_thread_res_uid(nobody, nobody, nobody).unwrap();
            }
            let error = folder.refused();
            assert!(error.contains("cannot be written"), "{error}");
        });
        opens.join().unwrap();
    });
    assert!(folder.names().is_empty());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_disk_that_is_read_only_is_refused_and_can_be_looked_at() {
    let folder = Folder::new("read-only");
    let Some(disk) = SmallDisk::mount(&folder.0, 64) else {
        return;
    };
    let (name, config) = ("jobs".parse().unwrap(), ReliableConfig::default());
    {
        let backend = FileBackend::open(&folder.0, SyncMode::Always).unwrap();
        let jobs = backend.open_reliable(&name, &config).await.unwrap();
        jobs.push(&[Push::new("x")]).await.unwrap();
    }
    disk.make_read_only();
    let before = folder.names();
    let error = folder.refused();
    assert!(
        error.contains("cannot be written: Read-only file system"),
        "{error}"
    );
    let looked = FileBackend::look(&folder.0).unwrap();
    let jobs = looked.open_reliable(&name, &config).await.unwrap();
    assert_eq!(jobs.depth().await.unwrap().ready, 1);
    assert_eq!(folder.names(), before);
}

#[tokio::test]
async fn a_look_at_a_live_folder_shows_its_queues_and_changes_nothing() {
    let folder = Folder::new("look");
    let backend = FileBackend::open(&folder.0, SyncMode::Always).expect("opens");
    let name = "jobs".parse().unwrap();
    let queue = backend
        .open_reliable(&name, &ReliableConfig::default())
        .await
        .unwrap();
    queue.push(&[Push::new("a"), Push::new("b")]).await.unwrap();
    queue
        .receive(1, Duration::from_secs(60), Duration::ZERO)
        .await
        .unwrap();
    let seen = FileBackend::look(&folder.0).expect("looks");
    let stored = seen.open_stored(&name).await.unwrap().expect("it is there");
    let depth = stored.queue.leasing().unwrap().depth().await.unwrap();
    assert_eq!((depth.ready, depth.leased), (1, 1));
    assert!(FileBackend::look(folder.0.join("nothing")).is_err());
    queue.push(&[Push::new("c")]).await.unwrap();
    assert_eq!(queue.depth().await.unwrap().ready, 2);
}

/// Others see who has a folder, the room on its disk, and how long its syncs take.
#[tokio::test]
async fn the_facts_of_a_folder_name_its_owner_while_it_is_open() {
    let folder = Folder::new("facts");
    assert!(
        FileBackend::folder_facts(&folder.0).is_err(),
        "it has no queues"
    );
    let seen = || {
        let facts = FileBackend::folder_facts(&folder.0).expect("it has queues");
        facts.folder.expect("it is a folder")
    };
    let backend = FileBackend::open(&folder.0, SyncMode::Always).expect("opens");
    let name = "jobs".parse().unwrap();
    let config = ReliableConfig::default();
    let queue = backend.open_reliable(&name, &config).await.unwrap();
    // The owner shows its syncs each second.
    while seen().syncs.is_none() {
        queue.push(&[Push::new("a")]).await.unwrap();
    }
    let facts = seen();
    assert_eq!(
        (facts.owner, facts.held, facts.needed),
        (Some(std::process::id()), true, 0)
    );
    assert!(facts.free > Some(0));
    let syncs = facts.syncs.unwrap();
    assert!(
        syncs.count > 0 && syncs.median <= syncs.slowest,
        "{syncs:?}"
    );
    drop((queue, backend));
    let facts = seen();
    assert_eq!((facts.owner, facts.held), (Some(std::process::id()), false));
}

#[tokio::test]
async fn a_call_that_is_on_the_disk_is_confirmed() {
    use queue_core::{Confirmation, Copies};

    let folder = Folder::new("confirmed");
    for sync in [SyncMode::Always, SyncMode::Every(Duration::from_secs(30))] {
        let backend = FileBackend::open(&folder.0, sync).expect("opens");
        let confirmed = backend
            .confirmed(Confirmation::flushed())
            .await
            .expect("it has a disk");
        let name = "jobs".parse().unwrap();
        let queue = confirmed
            .open_reliable(&name, &ReliableConfig::default())
            .await
            .unwrap();
        let messages = [Push::new("a")];
        let pushed = queue
            .confirmed(|queue| queue.push(&messages))
            .await
            .unwrap();
        assert_eq!(pushed.copies, Copies::Enough, "{sync:?}");
        let replicas = backend
            .confirmed(Confirmation::replicas(1))
            .await
            .unwrap_err();
        assert_eq!(replicas.kind(), ErrorKind::Configuration);
    }
    let backend = FileBackend::open(&folder.0, SyncMode::Never).expect("opens");
    let refused = backend
        .confirmed(Confirmation::flushed())
        .await
        .unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Configuration);
}
