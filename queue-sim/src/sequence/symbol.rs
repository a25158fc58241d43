//! Symbols: in a generated call they replace values that are known only from the queue's answers.
//!
//! Symbols are ids, tokens and times far above any that a queue gives. Every other value in a call means what it says,
//! so a made-up receipt is just an ordinary receipt. A page with any cursor goes on after the last page of the same
//! call; a peek, after the last page of its place.

use queue_core::{
    Cursor, Due, Inserted, Leased, MessageId, Page, Receipt, Timestamp, Token,
    call::{Answer, Call},
};

const ID: u64 = 1 << 60;
const TOKEN: u64 = 1 << 60;
const NEXT_TOKEN: u64 = 1 << 61;
const LAST_TOKEN: u64 = 1 << 62;
const TIME: u64 = 1 << 60;
/// The first symbol of a time means this number of milliseconds before now.
const PAST: u64 = 1_000;

/// An accepted message, counted back from the latest. The count wraps around.
pub const fn id(back: usize) -> MessageId {
    MessageId::new(ID + back as u64)
}

/// A receipt that the queue handed out, counted back from the latest. The count wraps around.
pub const fn receipt(back: usize) -> Receipt {
    crossed(back, back)
}

/// The id of one receipt with the token of another.
pub const fn crossed(id: usize, token: usize) -> Receipt {
    let (id, token) = (ID + id as u64, TOKEN + token as u64);
    Receipt::new(MessageId::new(id), Token::new(token))
}

/// A receipt with the token after its own, which the message may get later.
pub const fn too_new(back: usize) -> Receipt {
    let token = Token::new(NEXT_TOKEN + back as u64);
    Receipt::new(MessageId::new(ID + back as u64), token)
}

/// A receipt with the token before its own.
pub const fn too_old(back: usize) -> Receipt {
    let token = Token::new(LAST_TOKEN + back as u64);
    Receipt::new(MessageId::new(ID + back as u64), token)
}

/// A time, in milliseconds from now; at most a second in the past.
pub const fn from_now(millis: i64) -> Due {
    Due::At(Timestamp::from_millis(
        TIME + PAST.saturating_add_signed(millis),
    ))
}

/// A page of the given number of entries, after the last page that the client read.
pub const fn next_page(limit: usize) -> Page {
    Page::after(Cursor::new(0), limit)
}

/// The queue's answers so far, whose values the symbols replace.
#[derive(Debug, Default)]
pub(super) struct Known {
    ids: Vec<MessageId>,
    receipts: Vec<Receipt>,
    end_of_page: Option<Cursor>,
    /// For a peek, one for each place.
    ends_of_peeks: [Option<Cursor>; 3],
}

impl Known {
    /// Replaces the symbols in a call by their values. A symbol of a receipt or an id without a
    /// value becomes one that no client ever got.
    pub(super) fn resolve(&self, mut call: Call, now: Timestamp) -> Call {
        match &mut call {
            Call::Settle(batch) | Call::SettleAndLease(batch, ..) => {
                for settlement in batch {
                    settlement.receipt = self.receipt(settlement.receipt);
                }
            }
            Call::Extend(extensions, _) => {
                for extension in extensions {
                    extension.receipt = self.receipt(extension.receipt);
                }
            }
            Call::Cancel(ids)
            | Call::Revive(ids, _)
            | Call::Discard(ids)
            | Call::Remove(ids)
            | Call::Find(ids) => {
                for id in ids {
                    *id = self.id(*id);
                }
            }
            Call::Reschedule(ids, due) => {
                ids.iter_mut().for_each(|id| *id = self.id(*id));
                *due = time(*due, now);
            }
            Call::Push(messages) => {
                for push in messages {
                    push.due = push.due.map(|due| time(due, now));
                }
            }
            Call::Peek(place, page) => {
                page.after = page.after.and(self.ends_of_peeks[*place as usize]);
            }
            Call::DeadLetters(page) | Call::List(page) => {
                page.after = page.after.and(self.end_of_page);
            }
            _ => {}
        }
        call
    }

    /// Learns from the answer to a call.
    pub(super) fn learn(&mut self, call: &Call, answer: &Answer) {
        if let (Call::Peek(place, _), Answer::Peeked(page)) = (call, answer) {
            self.ends_of_peeks[*place as usize] = page.next;
        }
        match answer {
            Answer::Pushed(pushed) => {
                let new = pushed.iter().filter(|one| !one.is_duplicate());
                self.ids.extend(new.filter_map(|one| one.id()));
            }
            Answer::Inserted(inserted) => {
                for one in inserted {
                    if let Inserted::Added(id) = one {
                        self.ids.push(*id);
                    }
                }
            }
            Answer::Leased(leased) | Answer::SettledAndLeased(_, leased) => self.took(leased),
            Answer::DeadLetters(page) => self.end_of_page = page.next,
            Answer::Items(page) => self.end_of_page = page.next,
            _ => {}
        }
    }

    fn took(&mut self, leased: &Leased) {
        let receipts = leased.deliveries.iter().map(|delivery| delivery.receipt);
        self.receipts.extend(receipts);
    }

    fn id(&self, id: MessageId) -> MessageId {
        let back = id.get().checked_sub(ID);
        back.and_then(|back| latest(&self.ids, back)).unwrap_or(id)
    }

    fn receipt(&self, Receipt { id, token }: Receipt) -> Receipt {
        let seen = |symbol: u64, base: u64| latest(&self.receipts, symbol.checked_sub(base)?);
        let known = seen(id.get(), ID).map_or(id, |receipt| receipt.id);
        let symbol = token.get();
        let token = match symbol {
            LAST_TOKEN.. => seen(symbol, LAST_TOKEN).map(|seen| seen.token.get() - 1),
            NEXT_TOKEN.. => seen(symbol, NEXT_TOKEN).map(|seen| seen.token.get() + 1),
            _ => seen(symbol, TOKEN).map(|seen| seen.token.get()),
        };
        Receipt::new(known, Token::new(token.unwrap_or(symbol)))
    }
}

fn time(due: Due, now: Timestamp) -> Due {
    let Due::At(symbol) = due else { return due };
    let Some(ahead) = symbol.as_millis().checked_sub(TIME) else {
        return due;
    };
    let millis = (now.as_millis() + ahead).saturating_sub(PAST);
    Due::At(Timestamp::from_millis(millis))
}

fn latest<T: Copy>(seen: &[T], back: u64) -> Option<T> {
    // A made-up value is further back than any symbol.
    let back = usize::try_from(back).ok().filter(|back| *back < 1 << 20)?;
    let back = back.checked_rem(seen.len())?;
    Some(seen[seen.len() - 1 - back])
}
