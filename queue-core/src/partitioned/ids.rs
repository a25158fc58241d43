//! Ids, receipts and cursors of a partitioned queue: the part is in the top bits.

use super::names::MAX_PARTS;
use crate::{Cursor, Error, ErrorKind, MessageId, Receipt, Result};

/// The bits that a part's own number has.
const BITS: u32 = 56;
const OWN: u64 = (1 << BITS) - 1;
/// The bits that a part's own cursor has: a page goes on behind many messages, and there are at most 64 parts.
const CURSOR_BITS: u32 = 58;
const _: () =
    assert!(MAX_PARTS <= 1 << (u64::BITS - CURSOR_BITS) && Cursor::LIMIT == (1 << CURSOR_BITS) - 1);

const fn joined(part: usize, own: u64) -> u64 {
    (part as u64) << BITS | own & OWN
}

const fn split(number: u64) -> (usize, u64) {
    ((number >> BITS) as usize, number & OWN)
}

/// The id in the whole queue of a part's message.
pub(super) const fn whole(part: usize, id: MessageId) -> MessageId {
    MessageId::new(joined(part, id.get()))
}

/// The part of a message, and its id there.
pub(super) const fn in_part(id: MessageId) -> (usize, MessageId) {
    let (part, own) = split(id.get());
    (part, MessageId::new(own))
}

/// The receipt in the whole queue of a part's delivery.
pub(super) const fn whole_receipt(part: usize, receipt: Receipt) -> Receipt {
    Receipt::new(whole(part, receipt.id), receipt.token)
}

/// The part of a delivery, and its receipt there.
pub(super) const fn receipt_in_part(receipt: Receipt) -> (usize, Receipt) {
    let (part, id) = in_part(receipt.id);
    (part, Receipt::new(id, receipt.token))
}

/// The place in a listing that goes part by part: `None` is the beginning of the part.
pub(super) fn cursor(part: usize, own: Option<Cursor>) -> Result<Cursor> {
    let own = own.map(Cursor::get);
    if let Some(own @ Cursor::LIMIT..) = own {
        let message = format!("the cursor {own} of part {part} leaves no place for the part");
        return Err(Error::new(ErrorKind::Internal, message));
    }
    let own = own.unwrap_or(Cursor::LIMIT);
    Ok(Cursor::new((part as u64) << CURSOR_BITS | own))
}

/// The part at which a listing goes on, and the place there.
pub(super) fn cursor_in_part(cursor: Option<Cursor>) -> (usize, Option<Cursor>) {
    let Some(cursor) = cursor else {
        return (0, None);
    };
    let (part, own) = (cursor.get() >> CURSOR_BITS, cursor.get() & Cursor::LIMIT);
    (
        part as usize,
        (own != Cursor::LIMIT).then(|| Cursor::new(own)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Token;

    #[test]
    fn ids_and_receipts_come_back_as_they_were() {
        for part in 0..64 {
            for own in [1, 77, OWN] {
                let id = MessageId::new(own);
                assert_eq!(in_part(whole(part, id)), (part, id));
                let receipt = Receipt::new(id, Token::new(u64::MAX));
                let joined = whole_receipt(part, receipt);
                assert_eq!(receipt_in_part(joined), (part, receipt));
            }
        }
        assert_eq!(whole(0, MessageId::new(5)), MessageId::new(5), "part 0");
    }

    #[test]
    fn cursors_tell_the_part_and_its_beginning() {
        assert_eq!(cursor_in_part(None), (0, None));
        for part in 0..64 {
            let last = Cursor::new(Cursor::LIMIT - 1);
            for own in [None, Some(Cursor::new(0)), Some(last)] {
                let joined = cursor(part, own).unwrap();
                assert_eq!(cursor_in_part(Some(joined)), (part, own));
            }
        }
        let reserved = Cursor::new(Cursor::LIMIT);
        assert!(
            cursor(1, Some(reserved)).is_err(),
            "it would be the beginning"
        );
    }
}
