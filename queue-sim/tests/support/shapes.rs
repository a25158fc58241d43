//! Parameters under which some bugs show sooner.

/// Processes that wait for short plain messages, and batches of them. On bounded queues, planted bugs of
/// handing over and of batch leases need thousands of seeds if all parameters are drawn, and mostly at most
/// a quarter of them with these.
pub(crate) const SHAPES: [&str; 2] = [
    "v1:0.0.parameter=1,0.0.parameter.13=1",
    "v1:0.0.parameter.6=3,0.0.parameter.13=1",
];
