//! The backend of `docs/write-your-own-backend.md`, put through the suite as the page says.
//!
//! The files under `src` and `tests` are the page's: the tests of `pages` compare them with its
//! code blocks, and follow the page in an empty folder.

// The page's `use shelf::Shelf`, where the backend is a crate of its own.
extern crate self as shelf;

#[path = "tests/conformance.rs"]
mod conformance;
#[path = "src/lib.rs"]
mod lib;

pub use lib::Shelf;
