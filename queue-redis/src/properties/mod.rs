//! For any bytes that come from a user, a server or a proxy, the library returns a result or a clear error.

mod frames;
mod replies;
mod urls;

use proptest::{collection::vec, prelude::*};
use queue_core::Error;

/// The longest error text, so that an error takes one line of a log and not a page.
const LONGEST: usize = 1_000;

/// Checks an error's text: one line that a person can read.
#[track_caller]
fn assert_clear(error: &Error) {
    let text = queue_testing::chain::texts(error).join(": ");
    assert!(!text.contains(char::is_control), "{text:?}");
    assert!(text.len() <= LONGEST, "{} bytes: {text:?}", text.len());
    assert!(!text.is_empty());
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..80)
}

/// Damage to valid bytes.
#[derive(Debug, Clone)]
enum Damage {
    Cut(prop::sample::Index),
    Set(prop::sample::Index, u8),
    Insert(prop::sample::Index, Vec<u8>),
    Remove(prop::sample::Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        index().prop_map(Damage::Cut),
        (index(), any::<u8>()).prop_map(|(at, byte)| Damage::Set(at, byte)),
        (index(), vec(any::<u8>(), 1..9)).prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
        index().prop_map(Damage::Remove),
    ]
}

impl Damage {
    fn done_to(&self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        match self {
            Self::Cut(at) => bytes.truncate(at.index(bytes.len())),
            Self::Set(at, byte) => {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            Self::Insert(at, more) => {
                let at = at.index(bytes.len());
                drop(bytes.splice(at..at, more.iter().copied()));
            }
            Self::Remove(at) => drop(bytes.remove(at.index(bytes.len()))),
        }
    }
}

/// Any bytes, and valid bytes with some damage.
fn any_or_damaged(sound: impl Strategy<Value = Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let damaged = (sound, vec(damage(), 0..3)).prop_map(|(mut bytes, damages)| {
        for damage in damages {
            damage.done_to(&mut bytes);
        }
        bytes
    });
    prop_oneof![1 => bytes(), 4 => damaged]
}
