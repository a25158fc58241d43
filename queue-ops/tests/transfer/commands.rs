//! The commands `qk export`, `qk import` and `qk move`.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    time::Duration,
};

use queue_core::*;
use queue_redis::RedisBackend;
use real_redis::Server;

use crate::setting::HOUR;

fn qk(server: &Server, arguments: &[&str]) -> (String, i32) {
    let mut qk = Command::new(env!("CARGO_BIN_EXE_qk"));
    let output = qk
        .args(["--url", &server.url()])
        .args(arguments)
        .output()
        .unwrap();
    let text = [&*output.stdout, &*output.stderr].concat();
    (
        String::from_utf8(text).unwrap(),
        output.status.code().unwrap(),
    )
}

#[tokio::test]
async fn the_commands_carry_messages_too() {
    let server = Server::start().unwrap();
    let queues = Queues::new(RedisBackend::connect(&server.url()).await.unwrap());
    let orders = queues.reliable("orders").open::<u64>().await.unwrap();
    orders
        .push_all(&(0..300).collect::<Vec<_>>())
        .await
        .unwrap();
    let worst = orders.receive_batch(2, HOUR, Duration::ZERO).await.unwrap();
    worst[0].bury("no such customer").await.unwrap();
    queues.reliable("again").open::<u64>().await.unwrap();
    let directory = own_directory(&server);
    let file = directory.join("orders.jsonl");
    let path = file.to_str().unwrap();

    let (said, status) = qk(&server, &["export", "orders", "-o", path]);
    assert!(said.starts_with("300 messages exported\n"), "{said}");
    assert_eq!(status, 0);
    let (said, status) = qk(&server, &["export", "orders", "-o", path]);
    assert!(
        said.contains("orders.jsonl") && status == 2,
        "it overwrites nothing: {said}"
    );
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 301);
    assert_eq!(qk(&server, &["export", "orders"]).0.lines().count(), 301);

    let (said, status) = qk(&server, &["import", "again", path]);
    assert_eq!(
        (said.trim(), status),
        (
            "298 messages imported; 2 were leased or dead, and stay in the file (--leased, --dead)",
            0
        )
    );
    let (said, _) = qk(&server, &["import", "again", path, "--leased", "--dead"]);
    assert_eq!(said.trim(), "2 messages imported; 298 were imported before");
    let broken = directory.join("broken.jsonl");
    let cut = text.len() - 20;
    std::fs::write(&broken, &text[..cut]).unwrap();
    let (said, status) = qk(&server, &["import", "again", broken.to_str().unwrap()]);
    assert!(
        said.contains("broken.jsonl, line 301") && status == 2,
        "{said}"
    );
    std::fs::write(&broken, "{}\n").unwrap();
    let (said, status) = qk(&server, &["import", "again", broken.to_str().unwrap()]);
    assert!(
        said.contains("no export of `qk export`") && status == 2,
        "{said}"
    );

    let (said, status) = qk(&server, &["move", "orders", "again"]);
    assert!(
        said.starts_with(
            "would pause orders, and move 298 messages to again, without attempts, reasons, ages, dedup marks; 1 leased \
             and 1 dead stay: say --yes"
        ),
        "{said}"
    );
    assert_eq!(status, 1);
    let (said, status) = qk(&server, &["move", "orders", "again", "--yes"]);
    assert!(
        said.contains(
            "298 messages moved, without attempts, reasons, ages, dedup marks; orders is paused"
        ),
        "{said}"
    );
    assert_eq!(status, 0);
    let depth = queues.stored("again").await.unwrap().unwrap();
    let depth = depth.queue.leasing().unwrap().depth().await.unwrap();
    assert_eq!(depth.ready, 598);

    let (page, status) = qk(&server, &["man"]);
    assert!(
        page.contains("qk") && page.starts_with(".ie") && status == 0,
        "{page}"
    );
}

#[tokio::test]
async fn the_commands_say_what_stays_and_what_is_lost() {
    let server = Server::start().unwrap();
    let queues = Queues::new(RedisBackend::connect(&server.url()).await.unwrap());
    let old = queues.grouped("old").open::<u64>().await.unwrap();
    for (body, key) in [(1, "a"), (2, "a"), (3, "b")] {
        old.queue()
            .push_one(Push::from(Json::write(&body).unwrap()).with_group(key))
            .await
            .unwrap()
            .id()
            .unwrap();
    }
    let held = old.receive(HOUR, Duration::ZERO).await.unwrap().unwrap();
    queues.priority("urgent").open::<u64>().await.unwrap();
    queues.bounded("short", 1).open::<u64>().await.unwrap();
    let (said, status) = qk(&server, &["move", "old", "urgent", "--yes"]);
    assert!(
        said.contains("1 message moved, without attempts, reasons, ages, dedup marks, groups; old is paused; 1 stay"),
        "{said}"
    );
    assert_eq!(status, 1, "{said}");
    held.ack().await.unwrap();
    let (said, status) = qk(&server, &["--json", "move", "old", "urgent", "--yes"]);
    assert!(
        said.contains(r#"{"pushed":1,"pushed_before":0,"full":0,"in_both":0,"stay":0}"#)
            && status == 0,
        "{said}"
    );
    let (said, status) = qk(&server, &["move", "urgent", "short", "--yes"]);
    assert!(
        said.contains("1 message moved, without attempts, reasons, ages, dedup marks, priorities; urgent is paused; short \
                       is full: make room"),
        "{said}"
    );
    assert_eq!(status, 1);
    let (said, _) = qk(&server, &["move", "short", "old"]);
    assert!(
        said.contains("dedup marks, distinct keys; 0 leased"),
        "{said}"
    );

    let file = own_directory(&server).join("short.jsonl");
    let path = file.to_str().unwrap();
    let (said, status) = qk(&server, &["--json", "export", "short", "-o", path]);
    assert_eq!((said.trim(), status), (r#"{"exported":1,"missing":0}"#, 0));
    let (said, status) = qk(&server, &["--json", "import", "old", path]);
    assert_eq!(
        (said.trim(), status),
        (
            r#"{"full":0,"left_in_file":0,"pushed":1,"pushed_before":0}"#,
            0
        )
    );
    for wrong in [["old", "old"], ["old", "none"], ["none", "old"]] {
        let (said, status) = qk(&server, &["move", wrong[0], wrong[1], "--yes"]);
        assert_eq!(status, 2, "{wrong:?}: {said}");
    }
}

/// `qk` has read a page, and waits for its reader to take it; meanwhile the queue is emptied.
#[tokio::test]
async fn an_export_that_misses_messages_says_so_and_its_status_is_1() {
    let server = Server::start().unwrap();
    let queues = Queues::new(RedisBackend::connect(&server.url()).await.unwrap());
    let orders = queues.reliable("orders").open::<String>().await.unwrap();
    orders
        .push_all(&vec!["x".repeat(300); 1_100])
        .await
        .unwrap();
    for (pause, advice) in [(false, ": pause orders for an exact copy"), (true, "")] {
        if pause {
            orders
                .push_all(&vec!["x".repeat(300); 1_100])
                .await
                .unwrap();
            orders.queue().pause().await.unwrap();
        }
        let mut qk = Command::new(env!("CARGO_BIN_EXE_qk"))
            .args(["--url", &server.url(), "export", "orders"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(qk.stdout.take().unwrap()).lines();
        lines.next().unwrap().unwrap();
        orders.queue().purge_all().await.unwrap();
        assert_eq!(lines.count(), 1_000, "a page");
        let ended = qk.wait_with_output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        let words = "1000 messages exported; 100 left the queue meanwhile, and are missing";
        assert_eq!(said.trim_end(), format!("{words}{advice}"));
        assert_eq!(ended.status.code(), Some(1));
    }
}

fn own_directory(server: &Server) -> std::path::PathBuf {
    // The server's own directory goes with the server.
    server.socket().parent().unwrap().to_owned()
}
