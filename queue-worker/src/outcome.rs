//! The one outcome of each delivery.

use queue_core::{Disposition, Settled};

use super::{event::Event, lease::Lease};

/// A delivery's outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DeliveryOutcome {
    Acked,
    Retried,
    Deferred,
    Released,
    Died,
    Lost,
    Unconfirmed,
    Unsettled,
    Abandoned,
}

impl DeliveryOutcome {
    /// The outcome that this event reports, if any, and its delivery.
    pub(crate) const fn of<'a>(event: &Event<'a>) -> Option<(Self, &'a Lease)> {
        Some(match *event {
            Event::Settled {
                lease,
                disposition,
                settled,
                doubtful,
                ..
            } => {
                let fate = match settled {
                    Settled::Dead => Self::Died,
                    Settled::LeaseLost if doubtful => Self::Unconfirmed,
                    Settled::LeaseLost => Self::Lost,
                    Settled::Done => match disposition {
                        Disposition::Ack | Disposition::AckWith(_) => Self::Acked,
                        Disposition::Retry { .. } => Self::Retried,
                        Disposition::Defer { .. } => Self::Deferred,
                        Disposition::Release => Self::Released,
                        Disposition::Bury { .. } => Self::Died,
                    },
                };
                (fate, lease)
            }
            Event::Unsettled { lease, doubtful } if doubtful => (Self::Unconfirmed, lease),
            Event::Unsettled { lease, .. } => (Self::Unsettled, lease),
            Event::Discarded { lease } => (Self::Lost, lease),
            Event::Abandoned { lease } => (Self::Abandoned, lease),
            _ => return None,
        })
    }
}

#[cfg(any(feature = "tracing", feature = "metrics"))]
impl DeliveryOutcome {
    #[cfg(feature = "metrics")]
    pub(crate) const ALL: [Self; 9] = [
        Self::Acked,
        Self::Retried,
        Self::Deferred,
        Self::Released,
        Self::Died,
        Self::Lost,
        Self::Unconfirmed,
        Self::Unsettled,
        Self::Abandoned,
    ];

    /// The name in labels and fields.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Acked => "acked",
            Self::Retried => "retried",
            Self::Deferred => "deferred",
            Self::Released => "released",
            Self::Died => "died",
            Self::Lost => "lost",
            Self::Unconfirmed => "unconfirmed",
            Self::Unsettled => "unsettled",
            Self::Abandoned => "abandoned",
        }
    }
}
