//! The backends that URLs open, and the errors of URLs that open none.

use queue_kit::{DEFAULT_URL, ErrorKind, connect};

async fn refusal(url: &str) -> queue_kit::Error {
    connect(url).await.expect_err(url)
}

#[cfg(feature = "memory")]
#[tokio::test]
async fn memory_opens_a_new_backend_each_time() {
    let one = connect("memory:").await.unwrap();
    let other = connect("MEMORY:").await.unwrap();
    let mails = one.reliable("mails").open::<u32>().await.unwrap();
    mails.push(&1).await.unwrap();

    let clone = one.clone().reliable("mails").open::<u32>().await.unwrap();
    assert_eq!(clone.queue().depth().await.unwrap().ready, 1);
    let apart = other.reliable("mails").open::<u32>().await.unwrap();
    assert_eq!(apart.queue().depth().await.unwrap().ready, 0);
}

#[tokio::test]
async fn the_default_url_is_of_the_first_backend_that_is_compiled_in() {
    if cfg!(feature = "memory") {
        connect(DEFAULT_URL).await.expect("it needs no server");
    } else {
        assert_eq!(DEFAULT_URL, "redis://127.0.0.1:6379");
    }
}

#[cfg(feature = "redis")]
#[tokio::test]
async fn an_unknown_parameter_is_named() {
    let error = refusal("redis://localhost?perfix=shop").await;
    assert_eq!(error.kind(), ErrorKind::Invalid);
    for part in ["\"perfix\"", "known are", "prefix"] {
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[cfg(feature = "memory")]
#[tokio::test]
async fn memory_takes_nothing_after_its_colon() {
    for url in ["memory://", "memory:shop", "memory: "] {
        let error = refusal(url).await;
        assert_eq!(error.kind(), ErrorKind::Invalid, "{url}");
        assert!(error.to_string().contains("after `memory:`"), "{error}");
    }
}

#[cfg(feature = "file")]
#[tokio::test]
async fn a_file_url_opens_a_folder_that_keeps_its_queues() {
    let folder = std::env::temp_dir().join(format!("queue-kit-connect-{}", std::process::id()));
    let url = format!("file:{}?sync=50ms", folder.display());
    let queues = connect(&url).await.unwrap();
    let mails = queues.reliable("mails").open::<u32>().await.unwrap();
    mails.push(&1).await.unwrap();
    let error = refusal(&url).await;
    assert!(
        error.to_string().contains("belongs to the process"),
        "{error}"
    );
    drop((queues, mails));

    let queues = connect(&url).await.unwrap();
    let mails = queues.reliable("mails").open::<u32>().await.unwrap();
    assert_eq!(mails.queue().depth().await.unwrap().ready, 1);
    drop((queues, mails));
    std::fs::remove_dir_all(folder).unwrap();
}

#[cfg(not(feature = "file"))]
#[tokio::test]
async fn file_left_out_says_which_feature_to_enable() {
    let error = refusal("file:queues").await;
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(
        error.to_string().contains("features = [\"file\"]"),
        "{error}"
    );
}

#[cfg(not(feature = "memory"))]
#[tokio::test]
async fn memory_left_out_says_which_feature_to_enable() {
    let error = refusal("memory:").await;
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(
        error.to_string().contains("features = [\"memory\"]"),
        "{error}"
    );
}

#[cfg(not(feature = "redis"))]
#[tokio::test]
async fn redis_left_out_says_which_feature_to_enable() {
    for (url, feature) in [
        ("redis://localhost", "redis"),
        ("redis+sentinel://localhost/orders", "redis"),
        ("unix:/run/redis.sock", "redis"),
        ("rediss://localhost", "tls"),
        ("valkeys+sentinel://localhost/orders", "tls"),
    ] {
        let error = refusal(url).await;
        assert_eq!(error.kind(), ErrorKind::Configuration, "{url}");
        let named = format!("features = [\"{feature}\"]");
        assert!(error.to_string().contains(&named), "{error}");
    }
}

#[cfg(all(feature = "redis", not(feature = "tls")))]
#[tokio::test]
async fn tls_left_out_says_which_feature_to_enable() {
    for url in ["rediss://localhost", "rediss+sentinel://localhost/orders"] {
        let error = refusal(url).await;
        assert_eq!(error.kind(), ErrorKind::Configuration, "{url}");
        let named = "features = [\"tls\"]";
        assert!(error.to_string().contains(named), "{error}");
    }
}

#[cfg(feature = "redis")]
#[tokio::test]
async fn sentinels_that_are_not_there_are_unavailable() {
    let error = refusal("redis+sentinel://127.0.0.1:1/orders").await;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("127.0.0.1:1"), "{error}");
}

#[tokio::test]
async fn an_unknown_scheme_is_named_beside_the_known_ones() {
    let error = refusal("rabbit://localhost").await;
    assert_eq!(error.kind(), ErrorKind::Invalid);
    for part in ["`rabbit`", "memory:", "redis://", "unix://"] {
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[tokio::test]
async fn a_host_and_a_port_get_the_scheme_that_is_missing() {
    let error = refusal("localhost:6379").await;
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let text = error.to_string();
    assert!(
        text.contains("write redis://") && !text.contains("6379"),
        "{text}"
    );
}

#[tokio::test]
async fn texts_that_are_no_urls_are_refused() {
    for url in [
        "",
        "memory",
        ":",
        "//localhost",
        "/run/redis.sock",
        "1redis://localhost",
    ] {
        let error = refusal(url).await;
        assert_eq!(error.kind(), ErrorKind::Invalid, "{url}");
        assert!(error.to_string().contains("known are memory:"), "{error}");
    }
}

#[tokio::test]
async fn no_error_shows_a_password() {
    for url in [
        "rabbit://user:hunter2@localhost",
        "user:hunter2@localhost",
        ":hunter2@localhost",
        "hunter2@localhost:6379",
        "//user:hunter2@localhost",
        "memory://user:hunter2@localhost",
        "memory:hunter2",
        "redis://user:hunter2@localhost:not-a-port",
        "redis://user:hunter2@[",
        "unix:/no/such.sock?user=u&pass=hunter2",
        "redis://:hunter2@127.0.0.1:1",
        "redis://user:6379?hunter2@localhost",
        "rediss://user:hunter2@localhost#insecure",
        "redis+sentinel://user:hunter2@127.0.0.1:1/orders",
        "redis+sentinel://127.0.0.1:1/orders?sentinel_password=hunter2",
        "redis+sentinel://user:hunter2@/orders",
        "redis+sentinel://user:6379?hunter2@localhost",
        "unix:/no/such.sock?pass=a&hunter2=b",
    ] {
        let error = refusal(url).await;
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("hunter2"), "{url}: {shown}");
    }
}

/// One character of the scheme is removed, doubled or replaced: at each place, by each character with a
/// meaning in a URL.
#[tokio::test]
async fn no_slip_in_a_scheme_shows_a_password() {
    const OTHERS: [&str; 14] = [
        ":", "/", "@", "?", "#", "%", "[", "]", "+", " ", "\0", "é", "9", "s",
    ];
    for url in [
        "memory://user:hunter2@127.0.0.1:1",
        "redis://user:hunter2@127.0.0.1:1/0",
        "rediss://user:hunter2@127.0.0.1:1/0",
        "redis+sentinel://user:hunter2@127.0.0.1:1/orders",
        "redis+cluster://user:hunter2@127.0.0.1:1",
        "unix:///no/such.sock?pass=hunter2",
    ] {
        let scheme = url.find("//").expect("it has one") + 2;
        for at in 0..scheme {
            let (before, from) = url.split_at(at);
            let (this, after) = from.split_at(1);
            let twice = [this, this].concat();
            for other in OTHERS.into_iter().chain(["", &twice]) {
                let slip = [before, other, after].concat();
                if let Err(error) = connect(&slip).await {
                    let shown = format!("{error} {error:?}");
                    assert!(!shown.contains("hunter2"), "{slip}: {shown}");
                }
            }
        }
    }
}

#[cfg(feature = "redis")]
#[tokio::test]
async fn a_server_that_is_not_there_is_unavailable() {
    let error = refusal("unix:///no/such/redis.sock").await;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.is_transient());
}
