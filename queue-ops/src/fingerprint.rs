//! Failures of one cause, though their texts differ in numbers and names.

use std::collections::BTreeMap;

use queue_core::{DeadLetter, MessageId};
use serde::Serialize;

/// Dead letters that died of one cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FailureGroup {
    /// A short name of the cause, made of the fingerprint: it stays the same whatever else there is.
    pub cause: String,
    /// The text that their reasons have in common, see [`fingerprint`].
    pub fingerprint: String,
    /// The reason of the first one.
    pub example: String,
    /// How many there are.
    pub count: u64,
    /// The first ones, up to five.
    pub ids: Vec<MessageId>,
}

/// Ids that a group shows.
const SHOWN: usize = 5;

/// The reason of a failure without what differs from message to message: numbers become `#`, what stands in quotes
/// becomes `'…'`. Two failures of one cause mostly have one fingerprint.
///
/// ```
/// use queue_ops::fingerprint;
///
/// assert_eq!(fingerprint("order 41: no article \"rose\" (422)"), "order #: no article '…' (#)");
/// assert_eq!(fingerprint("order 7: no article \"kite\" (422)"), "order #: no article '…' (#)");
/// ```
pub fn fingerprint(reason: &str) -> String {
    let mut out = String::new();
    let mut rest = reason.chars().peekable();
    while let Some(next) = rest.next() {
        let quoted = matches!(next, '"' | '\'' | '`').then_some(next);
        if let Some(quote) = quoted
            && !out.ends_with(char::is_alphanumeric)
            && rest.clone().any(|other| other == quote)
        {
            rest.by_ref().find(|other| *other == quote);
            out.push_str("'…'");
        } else if next.is_ascii_digit() {
            // Ids in hexadecimal, and uuids, are one number.
            while rest
                .peek()
                .is_some_and(|more| more.is_ascii_hexdigit() || *more == '-')
            {
                rest.next();
            }
            out.push('#');
        } else {
            out.push(next);
        }
    }
    out
}

/// The name of a cause: the FNV-1a hash of its fingerprint, in ten hexadecimal digits.
fn cause(fingerprint: &str) -> String {
    let mixed = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = fingerprint.bytes().fold(0xcbf2_9ce4_8422_2325, mixed);
    format!("{:010x}", hash >> 24)
}

/// The failure of which a message died.
fn reason(letter: &DeadLetter) -> String {
    match &letter.failure {
        Some(failure) => failure.clone(),
        None => letter.reason.to_string(),
    }
}

/// The ids of the dead letters that died of the failure with this fingerprint.
pub fn ids_of_failure(letters: &[DeadLetter], of: &str) -> Vec<MessageId> {
    let died_of_it = |letter: &&DeadLetter| fingerprint(&reason(letter)) == of;
    let letters = letters.iter().filter(died_of_it);
    letters.map(|letter| letter.id).collect()
}

/// Groups dead letters by their failure, the largest group first.
pub fn group_failures(letters: &[DeadLetter]) -> Vec<FailureGroup> {
    let mut groups: BTreeMap<String, FailureGroup> = BTreeMap::new();
    for letter in letters {
        let reason = reason(letter);
        let fingerprint = fingerprint(&reason);
        let group = groups.entry(fingerprint.clone()).or_insert(FailureGroup {
            cause: cause(&fingerprint),
            fingerprint,
            example: reason,
            count: 0,
            ids: Vec::new(),
        });
        group.count += 1;
        if group.ids.len() < SHOWN {
            group.ids.push(letter.id);
        }
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.count));
    groups
}
