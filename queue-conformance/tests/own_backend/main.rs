//! The backend of `docs/write-your-own-backend.md`, put through the suite as the page says.
//!
//! The page's reader copies `src` and `tests`; the tests of `pages` do the same.

// Lets the tests say `use shelf::Shelf`, as if the backend were its own crate.
extern crate self as shelf;

#[path = "tests/conformance.rs"]
mod conformance;
#[path = "src/lib.rs"]
mod lib;

pub use lib::Shelf;
