//! Ids, receipts and cursors of a partitioned queue: the partition is in the top bits.

use super::names::MAX_PARTITIONS;
use crate::{Cursor, Error, ErrorKind, MessageId, Receipt, Result};

/// The bits of a partition's own number.
const BITS: u32 = 56;
const OWN: u64 = (1 << BITS) - 1;
/// The bits of a partition's own cursor. They are more than an id's, because a listing may be long, and 6
/// bits suffice for 64 partitions.
const CURSOR_BITS: u32 = 58;
const _: () = assert!(
    MAX_PARTITIONS <= 1 << (u64::BITS - CURSOR_BITS) && Cursor::LIMIT == (1 << CURSOR_BITS) - 1
);

const fn joined(partition: usize, own: u64) -> u64 {
    (partition as u64) << BITS | own & OWN
}

const fn split(number: u64) -> (usize, u64) {
    ((number >> BITS) as usize, number & OWN)
}

/// The id in the whole queue of a partition's message.
pub(super) const fn whole(partition: usize, id: MessageId) -> MessageId {
    MessageId::new(joined(partition, id.get()))
}

/// The partition of a message, and its id there.
pub(super) const fn in_partition(id: MessageId) -> (usize, MessageId) {
    let (partition, own) = split(id.get());
    (partition, MessageId::new(own))
}

/// The receipt in the whole queue of a partition's delivery.
pub(super) const fn whole_receipt(partition: usize, receipt: Receipt) -> Receipt {
    Receipt::new(whole(partition, receipt.id), receipt.token)
}

/// The partition of a delivery, and its receipt there.
pub(super) const fn receipt_in_partition(receipt: Receipt) -> (usize, Receipt) {
    let (partition, id) = in_partition(receipt.id);
    (partition, Receipt::new(id, receipt.token))
}

/// The cursor of a listing that goes partition by partition: `None` is the beginning of the partition.
pub(super) fn cursor(partition: usize, own: Option<Cursor>) -> Result<Cursor> {
    let own = own.map(Cursor::get);
    if let Some(own @ Cursor::LIMIT..) = own {
        let message =
            format!("the cursor {own} of partition {partition} leaves no place for the partition");
        return Err(Error::new(ErrorKind::Internal, message));
    }
    let own = own.unwrap_or(Cursor::LIMIT);
    Ok(Cursor::new((partition as u64) << CURSOR_BITS | own))
}

/// The partition at which a listing goes on, and the place there.
pub(super) fn cursor_in_partition(cursor: Option<Cursor>) -> (usize, Option<Cursor>) {
    let Some(cursor) = cursor else {
        return (0, None);
    };
    let (partition, own) = (cursor.get() >> CURSOR_BITS, cursor.get() & Cursor::LIMIT);
    (
        partition as usize,
        (own != Cursor::LIMIT).then(|| Cursor::new(own)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Token;

    #[test]
    fn ids_and_receipts_come_back_as_they_were() {
        for partition in 0..64 {
            for own in [1, 77, OWN] {
                let id = MessageId::new(own);
                assert_eq!(in_partition(whole(partition, id)), (partition, id));
                let receipt = Receipt::new(id, Token::new(u64::MAX));
                let joined = whole_receipt(partition, receipt);
                assert_eq!(receipt_in_partition(joined), (partition, receipt));
            }
        }
        assert_eq!(
            whole(0, MessageId::new(5)),
            MessageId::new(5),
            "partition 0"
        );
    }

    #[test]
    fn cursors_tell_the_partition_and_its_beginning() {
        assert_eq!(cursor_in_partition(None), (0, None));
        for partition in 0..64 {
            let last = Cursor::new(Cursor::LIMIT - 1);
            for own in [None, Some(Cursor::new(0)), Some(last)] {
                let joined = cursor(partition, own).unwrap();
                assert_eq!(cursor_in_partition(Some(joined)), (partition, own));
            }
        }
        let reserved = Cursor::new(Cursor::LIMIT);
        assert!(
            cursor(1, Some(reserved)).is_err(),
            "it would be the beginning"
        );
    }
}
