//! The page for operators, within the service's router.

use super::process::Process;

/// The page of the queues links to each of them below its own path.
fn shows_the_page(backend: &str) {
    let mut process = Process::start(backend);
    let client = process.client();
    let (status, page) = client.get("/ops").unwrap();
    let page = page.as_str().expect("a text");
    assert_eq!(status, 200, "{page}");
    for queue in ["jobs", "mails"] {
        let link = page
            .split('"')
            .find(|text| text.starts_with("/ops/") && text.contains(queue));
        let link = link.unwrap_or_else(|| panic!("no link to {queue} in {page}"));
        let (status, shown) = client.get(link).unwrap();
        assert_eq!(status, 200, "{link}: {shown}");
    }
    let (ended, said) = process.terminate();
    assert!(ended.success(), "{said}");
}

#[test]
fn the_page_is_mounted() {
    shows_the_page("memory:");
}

#[cfg(feature = "file")]
#[test]
fn the_page_is_mounted_above_queues_in_a_folder() {
    let folder = std::env::temp_dir().join(format!("service-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    shows_the_page(&format!("file:{}", folder.display()));
    std::fs::remove_dir_all(folder).unwrap();
}
