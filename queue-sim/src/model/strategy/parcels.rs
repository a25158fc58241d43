//! What is put in: bodies that are often equal, keys that often meet.

use proptest::{option, prelude::*, sample::select};

use super::amounts::window;
use crate::model::{Body, Mark, Parcel};

/// Two of these fit neither into a batch nor into an answer.
const LARGE: usize = 5 * 1024 * 1024;

pub(super) fn body() -> impl Strategy<Value = Body> + Clone {
    let len = prop_oneof![
        60 => 0..=2_usize,
        2 => select(vec![14, 15, 16, 17]),
        14 => Just(LARGE),
    ];
    let header = prop_oneof![5 => Just(false), 1 => Just(true)];
    let body = (select(vec![b'a', b'b']), len, header);
    body.prop_map(|(byte, len, header)| Body { byte, len, header })
}

pub(super) fn parcel() -> impl Strategy<Value = Parcel> + Clone {
    let mark = (key(), window()).prop_map(|(key, window)| Mark { key, window });
    let mark = option::weighted(0.3, mark);
    (body(), mark).prop_map(|(body, mark)| Parcel { body, mark })
}

/// A distinct key, or a ring item's key.
pub(super) fn distinct() -> impl Strategy<Value = Option<u8>> + Clone {
    option::weighted(0.5, key())
}

fn key() -> impl Strategy<Value = u8> + Clone {
    prop_oneof![60 => 0..=2_u8, 6 => 200..=202_u8, 1 => select(vec![254, 255])]
}
