//! Whether a connection's replies are in sync with its requests.
//!
//! Replies have no ids: each goes to the oldest request without a reply. If a proxy drops or doubles a reply, every
//! later request gets another request's reply. The channel cannot see that. A caller that reads a reply which does not
//! fit its request can, and doubts the connection. A damaged value on the server looks the same, so the connection is
//! tested before it is given up.

use std::{
    future::Future,
    sync::atomic::{AtomicU8, AtomicU64, Ordering},
};

use redis::{Cmd, Value};
use tokio::sync::Notify;

/// Every user who may call scripts may call this one. `ECHO` would need a separate right, and a server that cannot
/// write to its disk refuses `PING`.
const ECHO: &str = include_str!("../../lua/echo.lua");

const SURE: u8 = 0;
const SUSPECT: u8 = 1;
const LOST: u8 = 2;

/// The sync state of one connection.
#[derive(Debug, Default)]
pub(super) struct ReplySync {
    state: AtomicU8,
    changed: Notify,
    tests: AtomicU64,
}

/// A request with a unique reply.
pub(super) struct SyncCheck {
    pub(super) command: Cmd,
    word: String,
    /// Whether a caller had doubted the connection before this check was made.
    answers_suspicion: bool,
}

impl ReplySync {
    /// Whether the connection is not doubted: one load, on the path of every call.
    pub(super) fn is_sure(&self) -> bool {
        self.state.load(Ordering::Acquire) == SURE
    }

    /// Whether a test found the connection out of sync. This is permanent.
    pub(super) fn is_lost(&self) -> bool {
        self.state.load(Ordering::Acquire) == LOST
    }

    /// Notes that a reply did not fit its request.
    pub(super) fn mark_suspect(&self) {
        self.change(SURE, SUSPECT);
    }

    /// Waits until a caller doubts the connection.
    pub(super) async fn suspected(&self) {
        self.becomes(|state| state == SUSPECT).await;
    }

    /// Waits until the connection is no longer doubted, because a test has ended.
    pub(super) fn settled(&self) -> impl Future<Output = ()> {
        self.becomes(|state| state != SUSPECT)
    }

    pub(super) fn test(&self) -> SyncCheck {
        let answers_suspicion = !self.is_sure();
        let word = format!("in step {}", self.tests.fetch_add(1, Ordering::Relaxed));
        let mut command = redis::cmd("EVAL");
        command.arg(ECHO).arg(0).arg(&word);
        SyncCheck {
            command,
            word,
            answers_suspicion,
        }
    }

    /// Handles the reply to a test; `None` if there was no reply. Returns true if the connection may be trusted.
    pub(super) fn judge(&self, test: &SyncCheck, reply: Option<&Value>) -> bool {
        let is_in_sync = match reply {
            Some(Value::BulkString(said)) => said == test.word.as_bytes(),
            Some(_) => false,
            // A silent or busy server is no reason to give up a connection that nobody doubts.
            None => !test.answers_suspicion,
        };
        if !is_in_sync {
            self.state.store(LOST, Ordering::Release);
            self.changed.notify_waiters();
        } else if test.answers_suspicion {
            // A doubt that came after this test was sent gets a test of its own.
            self.change(SUSPECT, SURE);
        }
        is_in_sync
    }

    fn change(&self, from: u8, to: u8) {
        let changed = self
            .state
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire);
        if changed.is_ok() {
            self.changed.notify_waiters();
        }
    }

    async fn becomes(&self, holds: impl Fn(u8) -> bool) {
        loop {
            // Created before the check, so no change after the check is missed.
            let changed = self.changed.notified();
            if holds(self.state.load(Ordering::Acquire)) {
                return;
            }
            changed.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(test: &SyncCheck) -> Value {
        Value::BulkString(test.word.clone().into_bytes())
    }

    #[test]
    fn a_suspicion_ends_with_the_tests_own_word_alone() {
        let sync = ReplySync::default();
        sync.mark_suspect();
        let (first, second) = (sync.test(), sync.test());
        assert!(sync.judge(&first, Some(&said(&first))) && sync.is_sure());
        assert!(!sync.judge(&second, Some(&said(&first))) && sync.is_lost());
        sync.mark_suspect();
        assert!(sync.is_lost(), "for good");
    }

    #[test]
    fn a_test_without_a_reply_ends_a_suspect_connection_and_no_other() {
        let sync = ReplySync::default();
        assert!(sync.judge(&sync.test(), None) && sync.is_sure());
        sync.mark_suspect();
        assert!(!sync.judge(&sync.test(), None) && sync.is_lost());
    }

    #[test]
    fn a_suspicion_that_comes_during_a_test_has_one_of_its_own() {
        let sync = ReplySync::default();
        let test = sync.test();
        sync.mark_suspect();
        assert!(sync.judge(&test, Some(&said(&test))));
        assert!(!sync.is_sure());
    }
}
