//! The backend of `docs/write-your-own-backend.md`, put through the suite as the page says.
//!
//! The page's reader copies `src` and `tests`; the tests of `pages` do the same.

// `use shelf::Shelf` in the tests, as where the backend is a crate of its own.
extern crate self as shelf;

#[path = "tests/conformance.rs"]
mod conformance;
#[path = "src/lib.rs"]
mod lib;

pub use lib::Shelf;
