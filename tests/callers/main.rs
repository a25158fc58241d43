//! The calls that users have on top of the primitives, on queues in memory and in virtual time:
//! calls that wait, typed handles, and the default bodies of the traits' methods.

mod confirmed;
mod defaults;
mod fault_injector;
mod messages;
mod typed;
mod waiting;
