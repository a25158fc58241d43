//! Slows down those who try tokens.
//!
//! After some wrong tokens from an address, the next one is looked at only after a pause. Other addresses do not wait.
//! Behind a proxy all have its address: then somebody who tries tokens delays the sign-in of others, for as long as the
//! tries go on and [`LONGEST`] more. Sessions are not concerned.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// Wrong tokens without a pause.
const FREE: u32 = 3;
/// The first pause. Each further wrong token doubles it.
const SHORTEST: Duration = Duration::from_secs(1);
/// The longest pause.
pub(super) const LONGEST: Duration = Duration::from_secs(8);
/// The time without a wrong token after which all is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(600);
/// Addresses that are remembered.
const KEPT: usize = 1_024;

/// The way by which a token came. A program with an old token does not delay people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Way {
    Form,
    Header,
}

#[derive(Debug, Default)]
pub(super) struct Attempts(Mutex<HashMap<(Way, Option<IpAddr>), Wrong>>);

#[derive(Debug)]
struct Wrong {
    count: u32,
    last: Instant,
    free: Instant,
}

impl Attempts {
    /// Has `is_right` look at a token, unless its address has to wait. Returns the answer, or the time to wait.
    pub(super) fn attempt(
        &self,
        way: Way,
        from: Option<IpAddr>,
        is_right: impl FnOnce() -> bool,
    ) -> Result<bool, Duration> {
        let (key, now) = ((way, from.map(network)), Instant::now());
        // One at a time: many at once are no way around the pause.
        let mut wrong = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        wrong.retain(|_, one| now < one.last + FORGOTTEN);
        if let Some(one) = wrong.get(&key).filter(|one| now < one.free) {
            return Err(one.free - now);
        }
        if is_right() {
            wrong.remove(&key);
            return Ok(true);
        }
        if wrong.len() >= KEPT && !wrong.contains_key(&key) {
            let oldest = wrong.iter().min_by_key(|(_, one)| one.last);
            if let Some(oldest) = oldest.map(|(key, _)| *key) {
                wrong.remove(&oldest);
            }
        }
        let one = wrong.entry(key).or_insert(Wrong {
            count: 0,
            last: now,
            free: now,
        });
        one.count = one.count.saturating_add(1);
        one.last = now;
        if let Some(doublings) = one.count.checked_sub(FREE) {
            one.free = now + LONGEST.min(SHORTEST * 2_u32.pow(doublings.min(10)));
        }
        Ok(false)
    }
}

/// The network that one person has: of IPv6 that is more than an address.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const HERE: Option<IpAddr> = Some(IpAddr::V6(Ipv6Addr::LOCALHOST));

    fn address(text: &str) -> Option<IpAddr> {
        Some(text.parse().expect("an address"))
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_double_up_to_the_longest_and_end() {
        let attempts = Attempts::default();
        let wrong = || attempts.attempt(Way::Form, HERE, || false);
        for _ in 1..FREE {
            assert_eq!(wrong(), Ok(false));
        }
        for seconds in [1, 2, 4, 8, 8, 8] {
            assert_eq!(wrong(), Ok(false), "it is looked at");
            let pause = Duration::from_secs(seconds);
            let right = || {
                attempts.attempt(Way::Form, HERE, || {
                    panic!("nothing is looked at in a pause")
                })
            };
            assert_eq!(right(), Err(pause));
            advance(pause - Duration::from_millis(1)).await;
            // To try in a pause does not lengthen it.
            assert_eq!(right(), Err(Duration::from_millis(1)));
            advance(Duration::from_millis(1)).await;
        }
        assert_eq!(attempts.attempt(Way::Form, HERE, || true), Ok(true));
        // The right token begins a new count.
        for _ in 1..FREE {
            assert_eq!(wrong(), Ok(false));
        }
        assert_eq!(attempts.attempt(Way::Form, HERE, || true), Ok(true));
    }

    #[tokio::test(start_paused = true)]
    async fn another_address_and_another_way_do_not_wait() {
        let attempts = Attempts::default();
        let by = |way, from, right: bool| attempts.attempt(way, from, || right);
        let thief = address("2001:db8:1:2::1");
        for _ in 0..FREE {
            assert_eq!(by(Way::Form, thief, false), Ok(false));
        }
        for (way, from, waits) in [
            (Way::Form, thief, true),
            // As many addresses of one network as somebody likes.
            (Way::Form, address("2001:db8:1:2:ffff::7"), true),
            (Way::Form, address("2001:db8:1:3::1"), false),
            (Way::Form, address("192.0.2.1"), false),
            (Way::Form, None, false),
            (Way::Header, thief, false),
        ] {
            assert_eq!(by(way, from, true).is_err(), waits, "{way:?} {from:?}");
        }
        let four = by(Way::Form, address("192.0.2.9"), false);
        assert_eq!(four, Ok(false));
        for _ in 1..FREE {
            let _ = by(Way::Form, address("::ffff:192.0.2.9"), false);
        }
        assert!(
            by(Way::Form, address("192.0.2.9"), true).is_err(),
            "one address in two notations"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn the_memory_for_addresses_is_bounded_and_forgets() {
        let attempts = Attempts::default();
        let fail =
            |number: u32| attempts.attempt(Way::Form, Some(IpAddr::V4(number.into())), || false);
        for _ in 0..FREE {
            let _ = fail(0);
            advance(Duration::from_millis(1)).await;
        }
        for number in 1..5_000 {
            assert_eq!(fail(number), Ok(false));
        }
        let kept = || attempts.0.lock().expect("nobody panicked").len();
        assert_eq!(kept(), KEPT);
        advance(FORGOTTEN).await;
        assert_eq!(fail(1), Ok(false));
        assert_eq!(kept(), 1);
    }
}
