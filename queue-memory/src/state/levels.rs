//! The lines of each priority.

use super::{
    backlog::Lines,
    entry::{Entries, Slot, StoredMessage},
    fifo::Fifo,
};

/// The priorities in a page: one for each bit of a word.
const PAGE: usize = 64;
const PAGES: usize = (1 << 16) / PAGE;
/// How many empty pages are kept, because the next message usually has the same priority.
const SPARE: usize = 4;

/// Two lines for each priority, and the number of messages in all of them.
///
/// One bit is set if a priority has messages, another if any priority of its page has. So joining, leaving
/// and finding the most urgent message cost the same for any number of priorities.
#[derive(Debug, Default)]
pub(crate) struct Levels {
    /// The most urgent first. Empty before the first message.
    pages: Vec<Option<Box<Page>>>,
    busy: [u64; PAGES / PAGE],
    /// How many pages have no message.
    empty: usize,
    len: usize,
}

#[derive(Debug)]
struct Page {
    busy: u64,
    lines: [Fifo; PAGE],
}

/// The page of a priority, and its line there.
#[inline]
const fn place(priority: i16) -> (usize, usize) {
    let behind = i16::MAX.abs_diff(priority) as usize;
    (behind / PAGE, behind % PAGE)
}

/// The places of the bits that are set.
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then_some(word.trailing_zeros())?;
        word &= word - 1;
        Some(bit as usize)
    })
}

impl Levels {
    #[inline]
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// The lines that a message joins.
    #[inline]
    pub(crate) fn of(&mut self, entry: &StoredMessage) -> &mut Fifo {
        self.line(entry.priority)
    }

    #[inline]
    fn line(&mut self, priority: i16) -> &mut Fifo {
        let (number, line) = place(priority);
        if self.pages.is_empty() {
            self.pages.resize_with(PAGES, || None);
        }
        let page = self.pages[number].get_or_insert_with(|| {
            self.empty += 1;
            Box::new(Page {
                busy: 0,
                lines: std::array::from_fn(|_| Fifo::default()),
            })
        });
        if page.busy == 0 {
            self.empty -= 1;
            self.busy[number / PAGE] |= 1 << (number % PAGE);
        }
        page.busy |= 1 << line;
        self.len += 1;
        &mut page.lines[line]
    }

    /// Takes a message out of the lines of its priority.
    #[inline]
    pub(crate) fn remove(&mut self, entries: &mut Entries, slot: Slot) {
        let (number, line) = place(entries[slot].priority);
        let Some(Some(page)) = self.pages.get_mut(number) else {
            return;
        };
        page.lines[line].remove(entries, slot);
        self.len -= 1;
        if page.lines[line].len() == 0 {
            page.busy &= !(1 << line);
            if page.busy == 0 {
                self.empty(number);
            }
        }
    }

    fn empty(&mut self, number: usize) {
        self.busy[number / PAGE] &= !(1 << (number % PAGE));
        if self.empty < SPARE {
            self.empty += 1;
        } else {
            self.pages[number] = None;
        }
    }

    /// The first message of the most urgent priority.
    #[inline]
    pub(crate) fn first(&self) -> Option<Slot> {
        let (word, busy) = self.busy.iter().enumerate().find(|(_, busy)| **busy != 0)?;
        let number = word * PAGE + busy.trailing_zeros() as usize;
        let page = self.pages[number].as_deref()?;
        page.lines[page.busy.trailing_zeros() as usize].first()
    }

    /// The lines of each priority that has messages, the most urgent first.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &Fifo> {
        let words = self.busy.iter().enumerate();
        let numbers = words.flat_map(|(word, busy)| bits(*busy).map(move |bit| word * PAGE + bit));
        let pages = numbers.filter_map(|number| self.pages[number].as_deref());
        pages.flat_map(|page| bits(page.busy).map(|line| &page.lines[line]))
    }
}

/// Each priority that has messages, by its place, with its lines.
#[cfg(feature = "journal")]
impl crate::coded::Coded for Levels {
    fn put(&self, out: &mut Vec<u8>) {
        self.len.put(out);
        let pages = self.pages.iter().enumerate();
        let pages = pages.filter_map(|(number, page)| Some((number, page.as_deref()?)));
        let lines = pages.flat_map(|(number, page)| {
            bits(page.busy).map(move |line| (number * PAGE + line, &page.lines[line]))
        });
        crate::coded::put_slice(&lines.collect::<Vec<_>>(), out);
    }

    fn get(input: &mut &[u8]) -> Option<Self> {
        let len = usize::get(input)?;
        let mut levels = Self::default();
        for (behind, fifo) in Vec::<(usize, Fifo)>::get(input)? {
            let priority = i64::from(i16::MAX) - i64::try_from(behind).ok()?;
            *levels.line(priority.try_into().ok()?) = fifo;
        }
        levels.len = len;
        Some(levels)
    }
}

#[cfg(test)]
mod tests {
    use queue_core::{PriorityConfig, Push, Settlement, Timestamp};

    use super::*;
    use crate::state::{LeasingState, Openable, Priority, urgency::Urgency};

    const NOW: Timestamp = Timestamp::from_millis(1);

    fn pages(state: &LeasingState<Priority>) -> usize {
        match &state.backlog.lines {
            Urgency::Strict(levels) => levels.pages.iter().flatten().count(),
            Urgency::Ageing(_) => panic!("it has no ageing"),
        }
    }

    #[test]
    fn every_priority_has_its_place_and_few_pages_stay_when_all_have_left() {
        let mut state = LeasingState::<Priority>::create(&PriorityConfig::default());
        // In an order that jumps from page to page.
        let all = (0..1_u32 << 16).map(|n| (n.wrapping_mul(40_503) % (1 << 16)) as u16 as i16);
        let messages: Vec<_> = all.map(|n| Push::new("x").with_priority(n)).collect();
        for batch in messages.chunks(128) {
            let _ids = state.push(NOW, batch);
        }
        assert_eq!(pages(&state), PAGES);
        let mut next = i16::MAX;
        for _ in 0..messages.len() / 128 {
            let leased = state.lease(NOW, 128, 1_000, None).deliveries;
            for delivery in &leased {
                let number = delivery.id().get() as usize - 1;
                assert_eq!(messages[number].priority, Some(next));
                next = next.wrapping_sub(1);
            }
            let acks = leased.iter().map(|each| Settlement::ack(each.receipt));
            state.settle(NOW, &acks.collect::<Vec<_>>());
        }
        assert_eq!(next, i16::MAX);
        assert_eq!(pages(&state), SPARE);
        let _ids = state.push(NOW, &["x".into()]);
        assert_eq!(state.lease(NOW, 2, 1_000, None).deliveries.len(), 1);
    }
}
