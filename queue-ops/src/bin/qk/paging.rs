//! Reading a listing over several pages.

use queue_core::{Error, Page, Paged, limits};

/// The first `limit` entries of a listing, and whether these are all of them.
pub(crate) async fn first<T>(
    limit: usize,
    read: impl AsyncFn(Page) -> Result<Paged<T>, Error>,
) -> Result<(Vec<T>, bool), Error> {
    let mut entries = Vec::new();
    let mut after = None;
    while entries.len() < limit {
        let limit = limits::MAX_PAGE.min(limit - entries.len());
        let mut page = Page::first(limit);
        page.after = after;
        let page = read(page).await?;
        entries.extend(page.entries);
        after = page.next;
        if after.is_none() {
            return Ok((entries, true));
        }
    }
    Ok((entries, false))
}
