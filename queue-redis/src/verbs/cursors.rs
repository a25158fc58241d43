//! Where the next page of a listing begins.

use queue_core::{Cursor, Error, ErrorKind, Result};

use crate::reply::Reply;

/// The end of a page; a number below zero means the last page.
pub(super) fn cursor(reply: &mut Reply) -> Result<Option<Cursor>> {
    Ok(u64::try_from(reply.number()?).ok().map(Cursor::new))
}

/// A cursor of `peek` is two numbers. The high bits count the shown elements of the list of ready frames, each as 256.
/// The low bits, as many as this, count the messages shown from elsewhere.
const LINED_BITS: u32 = 26;

pub(super) fn shown_by_now(listed: u64, lined: u64) -> Result<Cursor> {
    let cursor = listed
        .checked_mul(1 << LINED_BITS)
        .map(|listed| listed | lined);
    match cursor {
        Some(cursor @ ..Cursor::LIMIT) if lined < 1 << LINED_BITS => Ok(Cursor::new(cursor)),
        _ => Err(Error::new(
            ErrorKind::Internal,
            format!(
                "a page of a peek ends behind {} messages of a list and {lined} others, which no cursor can \
                 tell: purge or consume some first",
                listed / 256
            ),
        )),
    }
}

pub(super) fn shown_before(cursor: Option<Cursor>) -> (u64, u64) {
    let shown = cursor.map_or(0, Cursor::get);
    (shown >> LINED_BITS, shown & ((1 << LINED_BITS) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_holds_two_numbers_or_is_none() {
        const ELEMENTS: u64 = 16_000_000;
        const OTHERS: u64 = (1 << LINED_BITS) - 1;
        for (listed, lined) in [
            (0, 0),
            (256 * ELEMENTS + 15, 0),
            (0, OTHERS),
            (256 * ELEMENTS, OTHERS),
        ] {
            let cursor = shown_by_now(listed, lined).expect("they fit");
            assert_eq!(shown_before(Some(cursor)), (listed, lined));
        }
        for (listed, lined) in [(0, OTHERS + 1), (256 << 24, 0), (u64::MAX, 0)] {
            let error = shown_by_now(listed, lined).expect_err("they would be others");
            assert!(error.to_string().contains("purge or consume"), "{error}");
        }
    }
}
