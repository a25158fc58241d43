//! The backend's order of executions.

use queue_core::Timestamp;

use crate::check::branch::Branch;

/// Every execution, in order.
#[derive(Debug)]
pub(in crate::check) struct Steps(pub(in crate::check) Vec<CallStep>);

#[derive(Debug, Clone, Copy)]
pub(in crate::check) struct CallStep {
    pub(in crate::check) order: u64,
    pub(in crate::check) at: Timestamp,
    /// The call's place in the branch.
    pub(in crate::check) call: usize,
}

impl Steps {
    pub(in crate::check) fn of(branch: &Branch<'_>) -> Self {
        let calls = branch.calls.iter().enumerate();
        let mut steps: Vec<CallStep> = calls
            .flat_map(|(call, done)| {
                done.executed.iter().map(move |moment| CallStep {
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
