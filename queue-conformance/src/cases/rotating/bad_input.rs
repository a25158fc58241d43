use queue_core::*;

use super::{insert_numbered, listed};
use crate::{
    stage::Stage,
    steps::{count, id, refused},
};

pub(crate) async fn limits_a_bad_insert_is_refused_whole(stage: &Stage<'_>) {
    let ring = stage
        .rotating_with(RotatingConfig::default().with_max_body(10))
        .await;
    insert_numbered(&ring, 1).await;
    refused(ring.insert(&[]).await, "empty batch");
    refused(ring.insert(&vec![Insert::new("x"); 129]).await, "129");
    let too_big = [Insert::new("good"), Insert::new("eleven byte")];
    refused(ring.insert(&too_big).await, "11 bytes");
    let headers = Headers::new().with("name", "value");
    refused(
        ring.insert_one(Insert::new("xy").with_headers(headers))
            .await,
        "11 bytes",
    );
    let no_key = [Insert::new("good"), Insert::new("x").with_key("")];
    refused(ring.insert(&no_key).await, "0 bytes");
    refused(
        ring.insert_one(Insert::new("x").with_key(vec![b'k'; 257]))
            .await,
        "257",
    );
    assert_eq!(listed(&ring).await, [1], "nothing was inserted");

    ring.insert(&vec![Insert::new("ten bytes!"); 128])
        .await
        .expect("128 of 10 bytes");
    let longest = Insert::new("x").with_key(vec![b'k'; 256]);
    let inserted = ring.insert_one(longest).await.expect("fits");
    assert_eq!(inserted, Inserted::Added(id(130)));
}

pub(crate) async fn limits_a_batch_has_at_most_8_mib(stage: &Stage<'_>) {
    let ring = stage.rotating().await;
    let mut items = vec![Insert::new(vec![0; limits::DEFAULT_MAX_BODY]); 8];
    items.push(Insert::new("x"));
    refused(ring.insert(&items).await, "8388609");
    items.pop();
    ring.insert(&items).await.expect("exactly 8 MiB");
    assert_eq!(ring.len().await.expect("len"), 8);
}

pub(crate) async fn limits_counts_out_of_range_are_refused(stage: &Stage<'_>) {
    let ring = stage.rotating().await;
    insert_numbered(&ring, 2).await;
    refused(ring.rotate(count(129)).await, "129");
    refused(ring.visit(0, std::time::Duration::ZERO).await, "0");
    refused(ring.remove(&[]).await, "empty batch");
    refused(ring.remove(&vec![id(1); 129]).await, "129");
    refused(ring.list(Page::first(0)).await, "0 entries");
    refused(ring.list(Page::first(1_001)).await, "1001");
    assert_eq!(listed(&ring).await, [1, 2], "nothing moved");
}
