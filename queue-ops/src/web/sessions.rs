//! The sessions of those who signed in.
//!
//! A session is a random name that this process knows for a while. So the token itself is in no cookie, and a cookie that
//! leaks is worth nothing once its session is over.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use queue_core::{Error, ErrorKind};
use tokio::time::Instant;

use super::token::is_same;
use crate::hex::hex;

/// The length of a session from the sign-in on, whether it is used or not.
pub(super) const AGE: Duration = Duration::from_secs(12 * 3_600);
/// Sessions that are kept. One more ends the oldest.
const KEPT: usize = 256;
/// Random bytes of a session's name.
const BYTES: usize = 32;

#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<Vec<Session>>);

struct Session {
    name: String,
    end: Instant,
}

impl Sessions {
    /// Begins a session. Returns its name.
    pub(super) fn begin(&self) -> Result<String, Error> {
        let mut random = [0; BYTES];
        getrandom::fill(&mut random).map_err(|error| {
            Error::new(
                ErrorKind::Internal,
                format!("the system has no random bytes: {error}"),
            )
        })?;
        let name = hex(&random);
        let mut sessions = self.living();
        if sessions.len() >= KEPT {
            sessions.remove(0);
        }
        sessions.push(Session {
            name: name.clone(),
            end: Instant::now() + AGE,
        });
        Ok(name)
    }

    /// Whether a session has this name and is not over.
    pub(super) fn has(&self, name: &str) -> bool {
        // All of them are compared, so that the time does not tell which was nearly right.
        let sessions = self.living();
        sessions
            .iter()
            .fold(false, |found, one| found | is_same(name, &one.name))
    }

    pub(super) fn end(&self, name: &str) {
        self.living().retain(|one| !is_same(name, &one.name));
    }

    fn living(&self) -> MutexGuard<'_, Vec<Session>> {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        sessions.retain(|one| now < one.end);
        sessions
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_session_lasts_for_its_age_and_no_longer() {
        let sessions = Sessions::default();
        let name = sessions.begin().expect("random bytes");
        tokio::time::advance(AGE - Duration::from_millis(1)).await;
        assert!(sessions.has(&name), "until its end");
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(!sessions.has(&name), "being used does not lengthen it");
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_that_was_ended_is_over_and_the_others_go_on() {
        let sessions = Sessions::default();
        let (one, other) = (
            sessions.begin().expect("a name"),
            sessions.begin().expect("a name"),
        );
        assert_ne!(one, other);
        assert!(one.len() == 2 * BYTES && sessions.has(&one) && sessions.has(&other));
        for none in ["", &one[1..], &format!("{one}0")] {
            assert!(!sessions.has(none), "{none}");
            sessions.end(none);
        }
        sessions.end(&one);
        assert!(!sessions.has(&one) && sessions.has(&other));
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_session_makes_room() {
        let sessions = Sessions::default();
        let names: Vec<_> = (0..=KEPT)
            .map(|_| sessions.begin().expect("a name"))
            .collect();
        assert!(!sessions.has(&names[0]));
        assert!(names[1..].iter().all(|name| sessions.has(name)));
    }
}
