//! Effects that happen once: keys that are claimed, then done (O1 to O5).

mod run;
mod store;

pub use self::{
    run::{Claimed, Once, OnceRun},
    store::{Claim, OnceCounts, OnceStore},
};
