//! The gauges and the spans of a relay.

use std::{
    fmt::Debug,
    sync::{Arc, Mutex},
};

use metrics_exporter_prometheus::PrometheusBuilder;
use queue_core::{Headers, Push, TraceParent};
use queue_sql::Store;
use tracing::{field::Field, span::Attributes};
use tracing_subscriber::{Layer, layer::SubscriberExt};

use super::support::*;

/// The name and the fields of each span.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<String>>>);

impl<S: tracing::Subscriber> Layer<S> for Spans {
    fn on_new_span(
        &self,
        span: &Attributes<'_>,
        _: &tracing::Id,
        _: tracing_subscriber::layer::Context<'_, S>,
    ) {
        let mut text = span.metadata().name().to_owned();
        span.record(&mut |field: &Field, value: &dyn Debug| {
            text.push_str(&format!(" {field}={value:?}"));
        });
        self.0.lock().unwrap().push(text);
    }
}

#[tokio::test]
async fn gauges_show_what_waits_and_spans_what_was_pushed() {
    let (pool, store) = sqlx_sqlite().await;
    let recorder = PrometheusBuilder::new().build_recorder();
    let metrics = recorder.handle();
    let _recorder = ::metrics::set_default_local_recorder(&recorder);
    let spans = Spans::default();
    let _spans =
        tracing::subscriber::set_default(tracing_subscriber::registry().with(spans.clone()));
    let outbox = mails();
    let mut tx = pool.begin().await.unwrap();
    let traced = Headers::new().with_trace_parent(TraceParent::new(7, 8, true).unwrap());
    for row in [Push::new("a"), Push::new("b").with_headers(traced)] {
        outbox.push(&mut *tx, "mails", row).await.unwrap();
    }
    tx.commit().await.unwrap();
    let age = "UPDATE queue_outbox SET created = created - 60000000; \
         INSERT INTO queue_outbox (queue, body, refused) VALUES ('others', 'c', 'too large')";
    sqlx::raw_sql(age).execute(&pool).await.unwrap();

    // The first round counts before it takes.
    let relaying = Relaying::with(&outbox, store.clone(), &in_memory());
    relaying.says("relayed 2 to mails").await;
    relaying.end().await;
    let shown = metrics.render();
    for gauge in [
        "queue_kit_outbox_rows{queue=\"mails\",state=\"waiting\"} 2",
        "queue_kit_outbox_rows{queue=\"others\",state=\"refused\"} 1",
        "queue_kit_outbox_oldest_seconds{queue=\"mails\"} 6",
        "queue_kit_outbox_relayed_total{queue=\"mails\"} 2",
    ] {
        assert!(shown.contains(gauge), "{gauge} in {shown}");
    }
    let shown = spans.0.lock().unwrap().clone();
    let row = format!("row id=2 trace_id={:032x} parent_id={:016x}", 7, 8);
    assert_eq!(shown, ["relay queue=\"mails\" rows=2".to_owned(), row]);

    // The next relay's gauge of the queue whose rows are gone says so.
    let relaying = Relaying::with(&outbox, store.clone(), &in_memory());
    relaying.says("counted mails: 0 wait").await;
    relaying.end().await;
    assert_eq!(store.counts().await.unwrap()[0].queue, "others");
    assert!(
        metrics
            .render()
            .contains("queue_kit_outbox_rows{queue=\"mails\",state=\"waiting\"} 0")
    );
}
