//! Parameters under which some bugs show sooner.

/// Lanes that wait for short plain messages, and batches of them. Bugs of what a push hands over, and of batches
/// under one lease, take the planted bugs of bounded queues thousands of seeds that draw all parameters, and mostly
/// a quarter of them or less with these.
pub(crate) const SHAPES: [&str; 2] = [
    "v1:0.0.parameter=1,0.0.parameter.13=1",
    "v1:0.0.parameter.6=3,0.0.parameter.13=1",
];
