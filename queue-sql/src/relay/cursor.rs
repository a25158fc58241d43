//! Where a relay's scan begins.

use std::time::Duration;

use tokio::time::Instant;

use crate::Seen;

/// How often a relay looks where its scan may begin.
const LOOK: Duration = Duration::from_secs(1);

/// How often it scans from the first id on, for rows that another program moved below the cursor.
const FULL: Duration = Duration::from_secs(60);

/// The least id that may be there.
///
/// Deleted rows stay in the table and its index as long as some transaction might see them, so a scan from the first id
/// on costs more at each poll. But the least id that a poll shows is no bound: a transaction that commits later may have
/// a lower one. A transaction has its number before it takes an id. So once every transaction with a number below X has
/// ended, no row with an id that was given out before X was read can still appear.
#[derive(Debug)]
pub(super) struct Cursor {
    from: i64,
    /// The greatest id that was given out at an earlier look, and the X that follows it, from the look after that.
    pending: Option<(i64, Option<u64>)>,
    next_look: Instant,
    next_full: Instant,
}

impl Cursor {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self {
            from: 0,
            pending: None,
            next_look: now,
            next_full: now + FULL,
        }
    }

    pub(super) const fn from(&self) -> i64 {
        self.from
    }

    /// Whether it is time for a look.
    pub(super) fn is_due(&mut self) -> bool {
        let now = Instant::now();
        let due = now >= self.next_look;
        if due {
            self.next_look = now + LOOK;
        }
        due
    }

    /// Whether it is time for a scan of all ids.
    pub(super) fn scans_all(&mut self) -> bool {
        let now = Instant::now();
        let due = now >= self.next_full;
        if due {
            self.next_full = now + FULL;
        }
        due
    }

    /// Begins at the first id again.
    pub(super) const fn reset(&mut self) {
        self.from = 0;
        self.pending = None;
    }

    pub(super) fn advance(&mut self, seen: &Seen) {
        let Some((last, after)) = self.pending else {
            self.pending = Some((seen.last, None));
            return;
        };
        let after = after.unwrap_or(seen.next);
        if seen.running < after {
            self.pending = Some((last, Some(after)));
            return;
        }
        let bound = seen.least.map_or(last + 1, |least| least.min(last + 1));
        self.from = self.from.max(bound);
        self.pending = Some((seen.last, None));
    }

    /// Takes the greatest visible id as a bound, and so passes over late commits with lower ids.
    #[cfg(feature = "planted")]
    pub(super) fn skip_to(&mut self, id: i64) {
        self.from = self.from.max(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seen(least: Option<i64>, last: i64, running: u64, next: u64) -> Seen {
        Seen {
            least,
            last,
            running,
            next,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_cursor_waits_for_transactions_that_may_have_lower_ids() {
        let mut cursor = Cursor::new();
        // Transaction 5 has id 3 and is open; 4 and 5 were given out and are gone.
        cursor.advance(&seen(None, 5, 5, 8));
        cursor.advance(&seen(None, 6, 5, 9));
        cursor.advance(&seen(None, 6, 8, 9));
        assert_eq!(
            cursor.from(),
            0,
            "transaction 8 began before the second look"
        );
        cursor.advance(&seen(Some(3), 6, 9, 9));
        assert_eq!(cursor.from(), 3, "its row is there by now");
        cursor.advance(&seen(None, 6, 9, 9));
        assert_eq!(cursor.from(), 7, "all up to 6 are gone");
    }
}
