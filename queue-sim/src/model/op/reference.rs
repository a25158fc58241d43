//! Naming receipts and ids before there are any.

use queue_core::{MessageId, Receipt, Token};

/// A receipt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiptRef {
    /// One of all that were ever handed out, counted back from the latest, around and around.
    Seen(usize),
    /// The id of one, with the token of another.
    Crossed(usize, usize),
    /// One whose token is so much larger or smaller.
    Shifted(usize, i8),
    /// One that nobody ever got.
    MadeUp(u64, u64),
}

/// A message's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdRef {
    /// One of all that were ever accepted, counted back from the latest, around and around.
    Seen(usize),
    /// This one.
    MadeUp(u64),
}

/// What the references refer to: all that was handed out so far.
#[derive(Debug, Default)]
pub(in crate::model) struct Seen {
    receipts: Vec<Receipt>,
    ids: Vec<MessageId>,
}

impl Seen {
    pub(in crate::model) fn add_receipt(&mut self, receipt: Receipt) {
        self.receipts.push(receipt);
    }

    pub(in crate::model) fn add_id(&mut self, id: MessageId) {
        self.ids.push(id);
    }

    pub(in crate::model) fn receipt(&self, reference: ReceiptRef) -> Receipt {
        let none = Receipt::new(MessageId::new(1), Token::new(1));
        let seen = |back| back_from_the_latest(&self.receipts, back).unwrap_or(none);
        match reference {
            ReceiptRef::Seen(back) => seen(back),
            ReceiptRef::Crossed(id, token) => Receipt::new(seen(id).id, seen(token).token),
            ReceiptRef::Shifted(back, by) => {
                let Receipt { id, token } = seen(back);
                Receipt::new(id, Token::new(token.get().saturating_add_signed(by.into())))
            }
            ReceiptRef::MadeUp(id, token) => Receipt::new(MessageId::new(id), Token::new(token)),
        }
    }

    pub(in crate::model) fn id(&self, reference: IdRef) -> MessageId {
        match reference {
            IdRef::Seen(back) => back_from_the_latest(&self.ids, back).unwrap_or_default(),
            IdRef::MadeUp(id) => MessageId::new(id),
        }
    }
}

fn back_from_the_latest<T: Copy>(seen: &[T], back: usize) -> Option<T> {
    let back = back.checked_rem(seen.len())?;
    Some(seen[seen.len() - 1 - back])
}
