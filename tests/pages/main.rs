//! The pages of `docs/` are true: a reader who follows them sees the output that they show.
#![cfg(unix)]

mod following;
mod page;
mod readme;

/// The test builds crates with their dependencies, so only `scripts/test` runs it.
#[test]
#[ignore = "it builds crates from nothing: cargo test --test pages -- --ignored"]
fn the_pages_lead_from_an_empty_folder_to_where_they_say() {
    let start = page::Page {
        file: "start.md",
        crate_name: "mails",
    };
    let backend = page::Page {
        file: "write-your-own-backend.md",
        crate_name: "shelf",
    };
    let logic = page::Page {
        file: "simulate-your-logic.md",
        crate_name: "shop",
    };
    let properties = page::Page {
        file: "property-tests.md",
        crate_name: "checkout",
    };
    let folder = following::Folder::new();
    // One page builds while the other runs.
    std::thread::scope(|scope| {
        for page in [start, logic, properties, backend] {
            let folder = &folder;
            scope.spawn(move || folder.follow(page));
        }
        scope.spawn(|| readme::follow(&folder));
    });
}
