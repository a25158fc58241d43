//! The backend that `docs/write-your-own-backend.md` builds, put through the suite as it says.
//!
//! The files under `src` and `tests` are the page's: [`page`] compares them with its code blocks,
//! and can follow it in an empty folder.

// The page's `use shelf::Shelf`, where the backend is a crate of its own.
extern crate self as shelf;

#[path = "tests/conformance.rs"]
mod conformance;
#[path = "src/lib.rs"]
mod lib;
#[path = "../page/mod.rs"]
mod page;

pub use lib::Shelf;

const PAGE: page::Page = page::Page {
    file: "write-your-own-backend.md",
    crate_name: "shelf",
};

#[test]
fn the_page_shows_the_files_that_are_tested_here() {
    PAGE.shows_what_is_tested_in("own_backend");
}

#[cfg(unix)]
#[test]
#[ignore = "it builds a crate from nothing: cargo test -p queue-sim --test own_backend -- --ignored"]
fn the_page_leads_from_an_empty_folder_to_a_backend_that_passes() {
    PAGE.follow();
}
