//! The order in which the backend told that it executed the calls.

use queue_core::Timestamp;

use crate::check::branch::Branch;

/// Every execution, in order.
#[derive(Debug)]
pub(super) struct Steps(pub(super) Vec<Step>);

#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) order: u64,
    pub(super) at: Timestamp,
    /// The call's place in the branch.
    pub(super) call: usize,
}

impl Steps {
    pub(super) fn of(branch: &Branch<'_>) -> Self {
        let calls = branch.calls.iter().enumerate();
        let mut steps: Vec<Step> = calls
            .flat_map(|(call, done)| {
                done.executed.iter().map(move |moment| Step {
                    order: moment.order,
                    at: moment.at,
                    call,
                })
            })
            .collect();
        steps.sort_unstable_by_key(|step| step.order);
        Self(steps)
    }

    /// Whether the backend's clock never stepped back.
    pub(super) fn are_in_time(&self) -> bool {
        self.0.windows(2).all(|pair| pair[0].at <= pair[1].at)
    }
}
