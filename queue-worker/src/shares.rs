//! The division of free slots among queues.

/// The rule by which several queues share a worker's slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Sharing {
    /// By weight: while all queues have work, each gets its share, and none starves.
    #[default]
    ByWeight,
    /// Strictly in the order in which the queues were added: a later queue gets the slots that earlier queues
    /// leave, and may starve.
    InOrder,
}

/// The units of one slot, which weights divide. There are enough that the heaviest weight leaves at least one
/// unit, and few enough that no worker ever overflows a `u128`.
const SLOT: u128 = 1 << 64;

/// Start-time fair queueing: each queue has the virtual time at which its next slot begins. The time runs
/// slower for a heavier queue. A queue without work does not save up its share.
#[derive(Debug, Clone)]
pub(crate) struct Shares {
    sharing: Sharing,
    now: u128,
    queues: Vec<QueueShare>,
}

#[derive(Debug, Clone, Copy)]
struct QueueShare {
    weight: u128,
    next: u128,
}

/// The slots that a queue asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Demand {
    /// No slots, as far as the worker knows.
    Nothing,
    /// The queue may have work, but the worker cannot poll it just now.
    Later,
    /// Up to this many slots.
    Slots(usize),
}

impl Shares {
    pub(crate) fn new(sharing: Sharing, weights: impl IntoIterator<Item = u32>) -> Self {
        let share = |weight: u32| QueueShare {
            weight: u128::from(weight.max(1)),
            next: 0,
        };
        Self {
            sharing,
            now: 0,
            queues: weights.into_iter().map(share).collect(),
        }
    }

    /// Divides the free slots. It charges no queue: a queue is charged for the messages that come.
    pub(crate) fn divide(&self, free: usize, demands: &[Demand]) -> Vec<usize> {
        match self.sharing {
            Sharing::InOrder => in_order(free, demands),
            Sharing::ByWeight => self.by_weight(free, demands),
        }
    }

    fn by_weight(&self, free: usize, demands: &[Demand]) -> Vec<usize> {
        let mut given = vec![0; demands.len()];
        if free == 0 {
            return given;
        }
        let mut trial = self.clone();
        for _ in 0..free {
            let wants = |queue: &usize| match demands[*queue] {
                Demand::Slots(slots) => given[*queue] < slots,
                Demand::Nothing | Demand::Later => false,
            };
            let open = (0..demands.len()).filter(wants);
            let Some(queue) = open.min_by_key(|queue| trial.start(*queue)) else {
                break;
            };
            given[queue] += 1;
            trial.charge(queue, 1);
        }
        given
    }

    /// Charges a queue for the slots that it took.
    pub(crate) fn charge(&mut self, queue: usize, slots: usize) {
        if slots == 0 {
            return;
        }
        let start = self.start(queue);
        self.now = self.now.max(start);
        let share = &mut self.queues[queue];
        share.next = start + slots as u128 * SLOT / share.weight;
    }

    fn start(&self, queue: usize) -> u128 {
        self.queues[queue].next.max(self.now)
    }
}

fn in_order(free: usize, demands: &[Demand]) -> Vec<usize> {
    let mut left = free;
    let give = |demand: &Demand| match *demand {
        Demand::Nothing => 0,
        // Later queues wait until the worker has polled this queue.
        Demand::Later => {
            left = 0;
            0
        }
        Demand::Slots(slots) => {
            let given = slots.min(left);
            left -= given;
            given
        }
    };
    demands.iter().map(give).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Demand = Demand::Slots(usize::MAX);

    fn run(shares: &mut Shares, demands: &[Demand], rounds: usize) -> Vec<usize> {
        let mut total = vec![0; demands.len()];
        for _ in 0..rounds {
            for (queue, slots) in shares.divide(1, demands).into_iter().enumerate() {
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
    fn the_heaviest_queue_starves_none() {
        let mut shares = Shares::new(Sharing::ByWeight, [u32::MAX, u32::MAX / 4]);
        assert_eq!(run(&mut shares, &[ALL, ALL], 500), [400, 100]);
    }

    #[test]
    fn slots_that_come_at_once_are_charged_one_by_one() {
        let mut shares = Shares::new(Sharing::ByWeight, [1, 1]);
        shares.charge(0, 5);
        assert_eq!(shares.divide(5, &[ALL, ALL]), [0, 5]);
        assert_eq!(shares.divide(9, &[ALL, ALL]), [2, 7]);
    }

    #[test]
    fn one_alone_gets_all_and_saves_nothing_for_the_other() {
        let mut shares = Shares::new(Sharing::ByWeight, [1, 1]);
        assert_eq!(run(&mut shares, &[ALL, Demand::Nothing], 100), [100, 0]);
        let both = run(&mut shares, &[ALL, ALL], 100);
        assert!(both[0] >= 49, "{both:?}");
    }

    #[test]
    fn in_order_the_first_takes_what_it_wants() {
        let shares = Shares::new(Sharing::InOrder, [1, 1, 1]);
        assert_eq!(shares.divide(4, &[ALL, ALL, ALL]), [4, 0, 0]);
        assert_eq!(shares.divide(4, &[Demand::Nothing, ALL, ALL]), [0, 4, 0]);
        assert_eq!(shares.divide(4, &[Demand::Later, ALL, ALL]), [0, 0, 0]);
        assert_eq!(shares.divide(4, &[Demand::Slots(1), ALL, ALL]), [1, 3, 0]);
    }
}
