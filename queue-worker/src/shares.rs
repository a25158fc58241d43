//! Which queue gets the free slots.

/// How several queues share a worker's slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Sharing {
    /// By weight: while all have work, each gets its share, and none starves.
    #[default]
    ByWeight,
    /// Strictly in the order they were added: a later one gets what the earlier ones leave, and
    /// may starve.
    InOrder,
}

/// One free slot, in the units that weights divide.
const SLOT: u64 = 1 << 20;

/// Start-time fair queueing: each queue has the time at which its next slot begins, which runs
/// slower the heavier it is. One that had nothing to do does not save up its share.
#[derive(Debug, Clone)]
pub(crate) struct Shares {
    sharing: Sharing,
    now: u64,
    queues: Vec<Share>,
}

#[derive(Debug, Clone, Copy)]
struct Share {
    weight: u64,
    next: u64,
}

/// What a queue wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Nothing, as far as is known.
    Nothing,
    /// It may have work, and cannot be asked just now.
    Later,
    /// Up to this many slots.
    Slots(usize),
}

impl Shares {
    pub(crate) fn new(sharing: Sharing, weights: impl IntoIterator<Item = u32>) -> Self {
        let share = |weight: u32| Share {
            weight: u64::from(weight.max(1)),
            next: 0,
        };
        Self {
            sharing,
            now: 0,
            queues: weights.into_iter().map(share).collect(),
        }
    }

    /// Divides the free slots. It charges nobody: what came of it does.
    pub(crate) fn divide(&self, free: usize, wishes: &[Wish]) -> Vec<usize> {
        match self.sharing {
            Sharing::InOrder => in_order(free, wishes),
            Sharing::ByWeight => self.by_weight(free, wishes),
        }
    }

    fn by_weight(&self, free: usize, wishes: &[Wish]) -> Vec<usize> {
        let mut given = vec![0; wishes.len()];
        let mut trial = self.clone();
        for _ in 0..free {
            let wants = |queue: &usize| match wishes[*queue] {
                Wish::Slots(slots) => given[*queue] < slots,
                Wish::Nothing | Wish::Later => false,
            };
            let open = (0..wishes.len()).filter(wants);
            let Some(queue) = open.min_by_key(|queue| trial.start(*queue)) else {
                break;
            };
            given[queue] += 1;
            trial.charge(queue, 1);
        }
        given
    }

    /// This queue took so many slots.
    pub(crate) fn charge(&mut self, queue: usize, slots: usize) {
        if slots == 0 {
            return;
        }
        let start = self.start(queue);
        self.now = self.now.max(start);
        let share = &mut self.queues[queue];
        share.next = start + slots as u64 * SLOT / share.weight;
    }

    fn start(&self, queue: usize) -> u64 {
        self.queues[queue].next.max(self.now)
    }
}

fn in_order(free: usize, wishes: &[Wish]) -> Vec<usize> {
    let mut left = free;
    let give = |wish: &Wish| match *wish {
        Wish::Nothing => 0,
        // Whoever comes later waits until this one has been asked.
        Wish::Later => {
            left = 0;
            0
        }
        Wish::Slots(slots) => {
            let given = slots.min(left);
            // It may want more than it is given now.
            left = if slots > left { 0 } else { left - given };
            given
        }
    };
    wishes.iter().map(give).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Wish = Wish::Slots(usize::MAX);

    fn run(shares: &mut Shares, wishes: &[Wish], rounds: usize) -> Vec<usize> {
        let mut total = vec![0; wishes.len()];
        for _ in 0..rounds {
            for (queue, slots) in shares.divide(1, wishes).into_iter().enumerate() {
                shares.charge(queue, slots);
                total[queue] += slots;
            }
        }
        total
    }

    #[test]
    fn weights_divide_the_slots_one_by_one_and_at_once() {
        let mut shares = Shares::new(Sharing::ByWeight, [3, 1]);
        assert_eq!(shares.divide(16, &[ALL, ALL]), [12, 4]);
        assert_eq!(run(&mut shares, &[ALL, ALL], 400), [300, 100]);
    }

    #[test]
    fn one_alone_gets_all_and_saves_nothing_for_the_other() {
        let mut shares = Shares::new(Sharing::ByWeight, [1, 1]);
        assert_eq!(run(&mut shares, &[ALL, Wish::Nothing], 100), [100, 0]);
        let both = run(&mut shares, &[ALL, ALL], 100);
        assert!(both[0] >= 49, "{both:?}");
    }

    #[test]
    fn in_order_the_first_takes_what_it_wants() {
        let shares = Shares::new(Sharing::InOrder, [1, 1, 1]);
        assert_eq!(shares.divide(4, &[ALL, ALL, ALL]), [4, 0, 0]);
        assert_eq!(shares.divide(4, &[Wish::Nothing, ALL, ALL]), [0, 4, 0]);
        assert_eq!(shares.divide(4, &[Wish::Later, ALL, ALL]), [0, 0, 0]);
        assert_eq!(shares.divide(4, &[Wish::Slots(1), ALL, ALL]), [1, 3, 0]);
    }
}
