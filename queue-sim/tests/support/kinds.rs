//! The kinds of queue, for tests of each.

/// Calls a macro with the given tokens, followed by each kind's name and variant.
macro_rules! each_kind {
    ($($make:ident)::+! $($given:tt)*) => {
        $($make)::+! {
            $($given)* reliable Reliable, delay Delay, priority Priority, grouped Grouped,
            bounded Bounded, rotating Rotating
        }
    };
}
pub(crate) use each_kind;
