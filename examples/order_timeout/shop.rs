//! The shop: places orders, takes payments, and knows which orders are open.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use queue_kit::{Cancelled, Delay, ErrorKind, MessageId, Sent, millis_ceil};
use tokio::time::{Instant, sleep};

use crate::{CancelOrder, cli::Failure, orders::Order};

/// The time in which the queue recognises a repeated placing of an order.
const DEDUP_WINDOW: Duration = Duration::from_secs(60 * 60);

/// The shop's counts.
#[derive(Debug, Default)]
pub(crate) struct Sales {
    pub(crate) orders: u64,
    pub(crate) paid: u64,
    /// Lines of the file that became no order.
    pub(crate) refused: usize,
}

pub(crate) struct Shop {
    run: u64,
    timeouts: Delay<CancelOrder>,
    open: OpenOrders,
    sales: Sales,
}

impl Shop {
    pub(crate) fn new(run: u64, timeouts: Delay<CancelOrder>, open: OpenOrders) -> Self {
        Self {
            run,
            timeouts,
            open,
            sales: Sales::default(),
        }
    }

    /// Plays the orders' placings and payments in time.
    pub(crate) async fn serve(mut self, orders: Vec<Order>) -> Result<Sales, Failure> {
        let mut agenda: Vec<(u64, Event, &Order)> = Vec::new();
        for order in &orders {
            agenda.push((order.placed_ms, Event::Place, order));
            if let Some(paid_ms) = order.paid_ms {
                agenda.push((order.placed_ms.saturating_add(paid_ms), Event::Pay, order));
            }
        }
        agenda.sort_by_key(|&(at, event, _)| (at, event));

        let mut tickets: BTreeMap<usize, MessageId> = BTreeMap::new();
        let start = Instant::now();
        for (at, event, order) in agenda {
            sleep(Duration::from_millis(at).saturating_sub(start.elapsed())).await;
            match event {
                Event::Place => {
                    if let Some(id) = self.place(order).await? {
                        tickets.insert(order.line, id);
                    }
                }
                Event::Pay => {
                    if let Some(&id) = tickets.get(&order.line) {
                        self.pay(order, id).await?;
                    }
                }
            }
        }
        Ok(self.sales)
    }

    async fn place(&mut self, order: &Order) -> Result<Option<MessageId>, Failure> {
        let timeout = Duration::from_millis(order.timeout_ms);
        if !self.open.open(order.order, timeout) {
            return Ok(self.refuse(order, "is open already"));
        }
        let body = CancelOrder {
            run: self.run,
            order: order.order,
        };
        // The key makes it safe to place an order again: after an error of unknown outcome, or if
        // the customer pressed the button twice.
        let key = format!("{}-{}", self.run, order.order);
        let message = self.timeouts.message(&body).delay(timeout);
        match message.dedup(key, DEDUP_WINDOW).send().await {
            Ok(Sent::Duplicate(_)) => {
                self.open.close(order.order);
                Ok(self.refuse(order, "was placed before"))
            }
            Ok(sent) => {
                println!(
                    "order {} placed, to be paid within {timeout:?}",
                    order.order
                );
                self.sales.orders += 1;
                Ok(Some(sent.id()))
            }
            Err(error) if error.kind() == ErrorKind::Invalid => {
                self.open.close(order.order);
                Ok(self.refuse(order, &error.to_string()))
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn pay(&mut self, order: &Order, id: MessageId) -> Result<(), Failure> {
        match self.timeouts.cancel(id).await? {
            Cancelled::Cancelled => {
                println!("order {} paid in time", order.order);
                self.open.close(order.order);
                self.sales.paid += 1;
            }
            Cancelled::TooLate => println!("order {} paid too late: refunded", order.order),
            Cancelled::NeverWas => {
                return Err(format!("the queue never had timeout {id}: was it removed?").into());
            }
        }
        Ok(())
    }

    fn refuse(&mut self, order: &Order, reason: &str) -> Option<MessageId> {
        eprintln!(
            "line {} is left out: order {} {reason}",
            order.line, order.order
        );
        self.sales.refused += 1;
        None
    }
}

// Placings go first, so that an order can be paid in the same millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Place,
    Pay,
}

/// The orders that are neither paid nor cancelled, each with its start and its timeout.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenOrders(Arc<Mutex<BTreeMap<u64, (Instant, Duration)>>>);

impl OpenOrders {
    /// Opens an order. Returns true if it was not open before.
    fn open(&self, order: u64, timeout: Duration) -> bool {
        match self.lock().entry(order) {
            Entry::Vacant(vacant) => {
                vacant.insert((Instant::now(), timeout));
                true
            }
            Entry::Occupied(_) => false,
        }
    }

    /// Closes an order. Returns its lateness in milliseconds (below 0: early), or `None` if it was not open.
    ///
    /// The time counts from before the push, so that the push itself counts as lateness. It is in whole milliseconds,
    /// as the queue's own time is.
    pub(crate) fn close(&self, order: u64) -> Option<i64> {
        let (since, timeout) = self.lock().remove(&order)?;
        let waited = i64::try_from(millis_ceil(since.elapsed())).unwrap_or(i64::MAX);
        Some(waited.saturating_sub_unsigned(millis_ceil(timeout)))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// An order that is overdue by the given time.
    pub(crate) fn overdue_by(&self, patience: Duration) -> Option<u64> {
        let open = self.lock();
        let mut overdue = open
            .iter()
            .filter(|(_, (since, timeout))| since.elapsed() > timeout.saturating_add(patience));
        overdue.next().map(|(order, _)| *order)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, (Instant, Duration)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
