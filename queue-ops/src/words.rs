//! Durations and times in words.

use std::time::Duration;

use queue_core::{Holder, Standing, Timestamp};

/// A duration for people, in its two largest units: `250 ms`, `4.2 s`, `6 min`, `2 h 5 min`, `3 d 4 h`.
pub fn duration_in_words(duration: Duration) -> String {
    let (millis, seconds) = (duration.as_millis(), duration.as_secs());
    let two = |large: u64, unit: &str, small: u64, smaller: &str| match small {
        0 => format!("{large} {unit}"),
        _ => format!("{large} {unit} {small} {smaller}"),
    };
    match seconds {
        0 => format!("{millis} ms"),
        1..10 => format!("{}.{} s", seconds, (millis / 100) % 10),
        10..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => two(seconds / 3_600, "h", seconds / 60 % 60, "min"),
        _ => two(seconds / 86_400, "d", seconds / 3_600 % 24, "h"),
    }
}

/// A number of things: `1 message`, `7 messages`.
pub fn counted(count: u64, thing: &str) -> String {
    match count {
        1 => format!("1 {thing}"),
        _ => format!("{count} {thing}s"),
    }
}

/// The name of a holder; who took a lease without one has none.
pub fn holder_in_words(holder: &str) -> &str {
    match holder {
        "" => "(without a name)",
        name => name,
    }
}

/// The state of a message, as an addition to a sentence about the message; nothing if it has none.
pub fn state_in_words(bytes: usize) -> String {
    match bytes {
        0 => String::new(),
        bytes => format!("; state of {}", counted(bytes as u64, "byte")),
    }
}

/// Where a message is, in words. `shown` shows what others wrote: the holder's name, and the progress.
pub fn standing_in_words(standing: &Standing, shown: impl Fn(&[u8]) -> String) -> String {
    match standing {
        Standing::Ready => "ready".to_owned(),
        Standing::Delayed { due_in, .. } => format!("due in {}", duration_in_words(*due_in)),
        Standing::Leased {
            time_left,
            holder,
            progress,
            ..
        } => {
            let holder = holder_in_words(holder.as_ref().map_or("", Holder::as_str));
            let progress = progress
                .as_ref()
                .map(|progress| format!(", at {}", shown(progress)));
            let (holder, left) = (shown(holder.as_bytes()), duration_in_words(*time_left));
            format!(
                "leased by {holder} for {left}{}",
                progress.unwrap_or_default()
            )
        }
    }
}

/// The year of a time, in UTC, also of times that no calendar has.
pub(crate) fn year(time: Timestamp) -> u64 {
    /// The mean length of a year of the Gregorian calendar.
    const YEAR: u64 = 31_556_952_000;
    1970 + time.as_millis() / YEAR
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_their_two_largest_units() {
        for (millis, words) in [
            (0, "0 ms"),
            (250, "250 ms"),
            (4_230, "4.2 s"),
            (38_000, "38 s"),
            (360_000, "6 min"),
            (7_500_000, "2 h 5 min"),
            (7_200_000, "2 h"),
            (273_600_000, "3 d 4 h"),
        ] {
            assert_eq!(duration_in_words(Duration::from_millis(millis)), words);
        }
        assert_eq!(year(Timestamp::from_millis(1_800_000_000_000)), 2027);
    }
}
