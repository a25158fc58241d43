//! The signals that end a program.

use std::{process::Command, time::Duration};

use queue_worker::shutdown;

#[tokio::test]
async fn each_signal_ends_the_wait_from_the_call_on() {
    let own = std::process::id().to_string();
    for signal in ["TERM", "INT"] {
        // Not polled before the signal comes.
        let ended = shutdown();
        let sent = Command::new("kill").args(["-s", signal, &own]).status();
        assert!(sent.expect("there is a program `kill`").success());
        let waited = tokio::time::timeout(Duration::from_secs(60), ended).await;
        assert!(waited.is_ok(), "SIG{signal}");
    }
}
