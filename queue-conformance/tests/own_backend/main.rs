//! The backend that `docs/write-your-own-backend.md` builds, put through the suite as it says.
//!
//! The files under `src` and `tests` are the page's: the tests of `pages` compare them with its code
//! blocks, and follow it in an empty folder.

// The page's `use shelf::Shelf`, where the backend is a crate of its own.
extern crate self as shelf;

#[path = "tests/conformance.rs"]
mod conformance;
#[path = "src/lib.rs"]
mod lib;

pub use lib::Shelf;
