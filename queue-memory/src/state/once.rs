//! A store of once keys (O1 to O4).

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use queue_core::{Claim, OnceCounts, Timestamp, Token, limits};

use super::entry::{KEPT, Key};

/// The keys of one store at one instant.
#[derive(Debug, Default)]
pub(crate) struct OnceKeys {
    // By the standard hasher: the keys may come from strangers.
    keys: HashMap<Key, KeyEntry>,
    claimed: Ends,
    done: Ends,
    last_token: u64,
    latest: Timestamp,
}

/// Keys by the end of their claim or mark; the token distinguishes equal times.
type Ends = BTreeMap<(Timestamp, Token), Key>;

#[derive(Debug, Clone, Copy)]
struct KeyEntry {
    state: KeyState,
    /// The token of the claim, or of the claim that finished the key.
    token: Token,
    /// Live while now is before this.
    end: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyState {
    Claimed,
    Done,
}

/// The token is not the key's live claim.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ClaimLost;

impl OnceKeys {
    fn begin(&mut self, now: Timestamp) -> Timestamp {
        self.latest = self.latest.max(now);
        self.latest
    }

    pub(crate) fn claim(&mut self, now: Timestamp, key: &[u8], claim_time: u64) -> Claim {
        let now = self.begin(now);
        self.clear_ended(now);
        if let Some(entry) = self.live(key, now) {
            return match entry.state {
                KeyState::Claimed => Claim::Busy {
                    left: entry.end.since(now),
                },
                KeyState::Done => Claim::Done,
            };
        }
        self.last_token = (self.last_token + 1).max(now.as_millis() * Token::PER_MILLI);
        let token = Token::new(self.last_token);
        self.set(key, KeyState::Claimed, token, now.plus_millis(claim_time));
        Claim::Claimed(token)
    }

    pub(crate) fn extend(
        &mut self,
        now: Timestamp,
        key: &[u8],
        token: Token,
        claim_time: u64,
    ) -> Result<(), ClaimLost> {
        let now = self.begin(now);
        self.held(key, token, now)?;
        self.set(key, KeyState::Claimed, token, now.plus_millis(claim_time));
        Ok(())
    }

    pub(crate) fn finish(
        &mut self,
        now: Timestamp,
        key: &[u8],
        token: Token,
        keep: u64,
    ) -> Result<(), ClaimLost> {
        let now = self.begin(now);
        let entry = self.live(key, now);
        match entry
            .filter(|entry| entry.token == token)
            .ok_or(ClaimLost)?
            .state
        {
            KeyState::Claimed => self.set(key, KeyState::Done, token, now.plus_millis(keep)),
            // The finish is a repetition.
            KeyState::Done => {}
        }
        Ok(())
    }

    pub(crate) fn release(
        &mut self,
        now: Timestamp,
        key: &[u8],
        token: Token,
    ) -> Result<(), ClaimLost> {
        let now = self.begin(now);
        self.held(key, token, now)?;
        self.unset(key);
        Ok(())
    }

    #[cfg(feature = "journal")]
    pub(crate) fn entries(&self) -> usize {
        self.keys.len()
    }

    pub(crate) fn counts(&mut self, now: Timestamp) -> OnceCounts {
        let now = self.begin(now);
        // Few ended keys wait to be cleared away, so counting them is cheap.
        let live = |ends: &Ends| {
            let ended = ends.keys().take_while(|(end, _)| *end <= now);
            (ends.len() - ended.count()) as u64
        };
        OnceCounts::new(live(&self.claimed), live(&self.done))
    }

    fn live(&self, key: &[u8], now: Timestamp) -> Option<KeyEntry> {
        self.keys.get(key).copied().filter(|entry| now < entry.end)
    }

    fn held(&self, key: &[u8], token: Token, now: Timestamp) -> Result<(), ClaimLost> {
        let entry = self.live(key, now).ok_or(ClaimLost)?;
        let held = entry.state == KeyState::Claimed && entry.token == token;
        held.then_some(()).ok_or(ClaimLost)
    }

    fn set(&mut self, key: &[u8], state: KeyState, token: Token, end: Timestamp) {
        let key = self.unset(key).unwrap_or_else(|| Key::from(key));
        self.ends(state).insert((end, token), Arc::clone(&key));
        self.keys.insert(key, KeyEntry { state, token, end });
    }

    fn unset(&mut self, key: &[u8]) -> Option<Key> {
        let (key, entry) = self.keys.remove_entry(key)?;
        self.ends(entry.state).remove(&(entry.end, entry.token));
        Some(key)
    }

    const fn ends(&mut self, state: KeyState) -> &mut Ends {
        match state {
            KeyState::Claimed => &mut self.claimed,
            KeyState::Done => &mut self.done,
        }
    }

    /// Clears away ended keys, at most 128 of each (O4).
    fn clear_ended(&mut self, now: Timestamp) {
        for state in [KeyState::Claimed, KeyState::Done] {
            for _ in 0..limits::MAX_BATCH {
                match self.ends(state).first_entry() {
                    Some(first) if first.key().0 <= now => {
                        let key = first.remove();
                        self.keys.remove(&key);
                    }
                    _ => break,
                }
            }
        }
        if self.keys.is_empty() && self.keys.capacity() > 2 * KEPT {
            self.keys = HashMap::new();
        }
    }
}

coded!(OnceKeys { keys, claimed, done, last_token } else { latest: Timestamp::default() });
coded!(KeyEntry { state, token, end });
coded!(enum KeyState { 0 => Claimed; 1 => Done; });

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys come and go in every way, and no structure holds more than the live keys and those that
    /// one call leaves behind.
    #[test]
    fn it_does_not_grow() {
        const PER_MS: usize = 16;
        let mut store = OnceKeys::default();
        let mut now = Timestamp::from_millis(1);
        for round in 0..20_000 {
            now = now.plus_millis(1);
            for n in 0..PER_MS {
                let key = format!("{round}-{n}");
                let Claim::Claimed(token) = store.claim(now, key.as_bytes(), 20) else {
                    panic!("{key} is new");
                };
                let kept = match n % 4 {
                    0 => store.finish(now, key.as_bytes(), token, 50),
                    1 => store.release(now, key.as_bytes(), token),
                    2 => store.extend(now, key.as_bytes(), token, 30),
                    _ => Ok(()),
                };
                assert_eq!(kept, Ok(()));
            }
            assert_whole(&store);
            assert!(store.keys.len() <= 51 * PER_MS, "{}", store.keys.len());
        }
        now = now.plus_millis(50);
        for _ in 0..51 * PER_MS / limits::MAX_BATCH + 1 {
            store.clear_ended(now);
        }
        assert_whole(&store);
        assert_eq!(store.keys.len(), 0);
    }

    #[test]
    fn an_emptied_store_is_small_again() {
        let mut store = OnceKeys::default();
        let start = Timestamp::from_millis(1);
        let _ = store.claim(start, b"longer", 20);
        for n in 0..100_000_u32 {
            let _ = store.claim(start, &n.to_be_bytes(), 10);
        }
        let later = start.plus_millis(10);
        for _ in 0..=100_000 / limits::MAX_BATCH {
            store.clear_ended(later);
        }
        assert_whole(&store);
        assert_eq!(store.counts(later).claimed, 1, "what lives stays");
        let end = start.plus_millis(20);
        store.clear_ended(end);
        assert_whole(&store);
        assert!(store.keys.capacity() <= 2 * KEPT);
    }

    fn assert_whole(store: &OnceKeys) {
        assert_eq!(store.keys.len(), store.claimed.len() + store.done.len());
    }
}
