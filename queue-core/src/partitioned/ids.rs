//! Ids, receipts and cursors of a partitioned queue: the part is in the top byte.

use crate::{Cursor, Error, ErrorKind, MessageId, Receipt, Result};

/// The bits that a part's own number has.
const BITS: u32 = 56;
const OWN: u64 = (1 << BITS) - 1;

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
    let own = own.map_or(OWN, Cursor::get);
    if own > OWN {
        let message = format!("the cursor {own} of part {part} leaves no place for the part");
        return Err(Error::new(ErrorKind::Internal, message));
    }
    Ok(Cursor::new(joined(part, own)))
}

/// The part at which a listing goes on, and the place there.
pub(super) fn cursor_in_part(cursor: Option<Cursor>) -> (usize, Option<Cursor>) {
    let Some(cursor) = cursor else {
        return (0, None);
    };
    let (part, own) = split(cursor.get());
    (part, (own != OWN).then(|| Cursor::new(own)))
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
            for own in [None, Some(Cursor::new(0)), Some(Cursor::new(OWN - 1))] {
                let joined = cursor(part, own).unwrap();
                assert_eq!(cursor_in_part(Some(joined)), (part, own));
            }
        }
        assert!(cursor(1, Some(Cursor::new(OWN + 1))).is_err());
    }
}
