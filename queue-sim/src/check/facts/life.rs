//! The life of one message.

use queue_core::{Delivery, Disposition, Extended, MessageId, Revived, Settled, Token};

use super::{Happened, What};
use crate::check::span::Span;

/// All events of one message, in order.
#[derive(Debug, Clone, Copy)]
pub(in crate::check) struct MessageLife<'f, 'a>(pub(in crate::check) &'f [Happened<'a>]);

impl<'f, 'a> MessageLife<'f, 'a> {
    pub(in crate::check) fn id(&self) -> MessageId {
        self.0.first().map_or(MessageId::new(0), |first| first.id)
    }

    pub(in crate::check) fn push(&self) -> Option<usize> {
        self.0.iter().find_map(|happened| match happened.what {
            What::Accepted(at) => Some(at),
            _ => None,
        })
    }

    pub(in crate::check) fn iter(&self) -> std::slice::Iter<'f, Happened<'a>> {
        self.0.iter()
    }

    /// The events that are surely before `then`.
    pub(in crate::check) fn before(&self, then: &Span) -> impl Iterator<Item = &'f Happened<'a>> {
        self.0.iter().filter(|happened| happened.span.before(then))
    }

    /// The events that are perhaps before `then`.
    pub(in crate::check) fn perhaps_before(
        &self,
        then: &Span,
    ) -> impl Iterator<Item = &'f Happened<'a>> {
        let events = self.0.iter();
        events.filter(|happened| happened.span.may_precede(then))
    }

    /// The deliveries, with the times of their leases, in order: by their tokens if the history says that tokens show
    /// the order, and otherwise by their calls.
    pub(in crate::check) fn leases(&self) -> impl Iterator<Item = Lease<'a>> + use<'f, 'a> {
        self.0.iter().filter_map(|happened| match happened.what {
            What::Delivered(delivery, lease_time) => Some(Lease {
                span: happened.span,
                delivery,
                lease_time,
            }),
            _ => None,
        })
    }

    /// The delivery with this token.
    pub(in crate::check) fn lease_with(&self, token: Token) -> Option<Lease<'a>> {
        let mut leases = self.leases();
        leases.find(|lease| lease.delivery.receipt.token == token)
    }

    /// The first delivery, if no earlier delivery is possible, and the message was undelivered until then. Each
    /// delivery charges an attempt, even if its answer was lost. But a caller that peeks has the receipt of such a
    /// delivery, too, and may refund the attempt. A message that died before, as an outdated one does without any
    /// delivery (L17), starts again at attempt 1 when it is revived.
    pub(in crate::check) fn first_lease(&self) -> Option<Lease<'a>> {
        let first = self.leases().next()?;
        let is_unknown = |token| self.lease_with(token).is_none();
        let refunded = self.perhaps_before(&first.span).any(|happened| {
            matches!(
                happened.what,
                What::Settled(token, Disposition::Defer { .. } | Disposition::Release, answer)
                    if answer != Some(Settled::LeaseLost) && is_unknown(token)
            )
        });
        let revived = self
            .perhaps_before(&first.span)
            .any(|happened| matches!(happened.what, What::Revived(None | Some(Revived::Revived))));
        (first.delivery.attempt == 1 && !refunded && !revived).then_some(first)
    }

    /// Whether a call may have revived the message between the two.
    pub(in crate::check) fn may_be_revived(&self, from: &Span, to: &Span) -> bool {
        self.0.iter().any(|happened| {
            matches!(happened.what, What::Revived(None | Some(Revived::Revived)))
                && happened.span.may_be_between(from, to)
        })
    }

    /// Whether a call may have given the message another due time between the two.
    pub(in crate::check) fn may_be_moved(&self, from: &Span, to: &Span) -> bool {
        let mut moves = self.0.iter().filter(|happened| happened.what.may_move());
        moves.any(|happened| happened.span.may_be_between(from, to))
    }

    /// Whether a call may have settled this lease before `until`.
    pub(in crate::check) fn may_be_settled(&self, lease: &Lease<'_>, until: &Span) -> bool {
        self.perhaps_before(until).any(|happened| {
            matches!(happened.what, What::Settled(token, _, answer)
                if token == lease.delivery.receipt.token && answer != Some(Settled::LeaseLost))
        })
    }

    /// The call that surely settled the lease with this token before `then`.
    pub(in crate::check) fn settled(&self, token: Token, then: &Span) -> Option<&'f Happened<'a>> {
        self.before(then).find(|happened| {
            matches!(happened.what, What::Settled(other, _, Some(Settled::Done | Settled::Dead))
                if other == token)
        })
    }

    /// The earliest and the latest possible deadline of this lease, with all extensions that may have come before
    /// `until`.
    pub(in crate::check) fn deadline(&self, lease: &Lease<'_>, until: &Span) -> (u64, u64) {
        let mut earliest = lease.span.earliest.saturating_add(lease.lease_time);
        let mut latest = lease.span.latest.saturating_add(lease.lease_time);
        for happened in self.perhaps_before(until) {
            if let What::Extended(token, lease_time, answer) = happened.what
                && token == lease.delivery.receipt.token
                && answer != Some(Extended::LeaseLost)
            {
                earliest = earliest.min(happened.span.earliest.saturating_add(lease_time));
                latest = latest.max(happened.span.latest.saturating_add(lease_time));
            }
        }
        (earliest, latest)
    }

    /// Whether this lease is surely live then.
    pub(in crate::check) fn is_live(&self, lease: &Lease<'_>, then: &Span) -> bool {
        !self.may_be_settled(lease, then) && then.clock < self.deadline(lease, then).0
    }

    /// Whether a live lease surely holds the message then.
    pub(in crate::check) fn is_leased(&self, then: &Span) -> bool {
        self.leases()
            .any(|lease| lease.span.before(then) && self.is_live(&lease, then))
    }
}

/// A delivery, with the time of its lease in ms.
#[derive(Debug, Clone, Copy)]
pub(in crate::check) struct Lease<'a> {
    pub(in crate::check) span: Span,
    pub(in crate::check) delivery: &'a Delivery,
    pub(in crate::check) lease_time: u64,
}
