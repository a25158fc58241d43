//! Somebody's own logic under the simulator: two worked examples, which the page
//! `docs/simulate-your-logic.md` tells, and what keeps a simulation honest.

mod asked;
mod gift_feed;
mod honest;
mod jobs;
mod kept;
mod order_timeouts;
#[path = "../page/mod.rs"]
mod page;
mod several_queues;
mod told;
mod worth;

/// Does what the page says, from an empty folder on.
#[cfg(unix)]
#[test]
#[ignore = "it builds a crate from nothing: cargo test -p queue-sim --test own_logic -- --ignored"]
fn the_page_leads_from_an_empty_folder_to_the_first_bug_and_its_end() {
    let page = page::Page {
        file: "simulate-your-logic.md",
        crate_name: "shop",
    };
    page.follow();
}
