//! A subscriber that records spans and events.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{Layer, layer::Context, registry::LookupSpan};

pub(crate) type Fields = BTreeMap<String, String>;

#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) spans: BTreeMap<u64, Span>,
    events: Vec<Seen>,
}

#[derive(Debug, Clone)]
pub(crate) struct Span {
    pub(crate) name: &'static str,
    pub(crate) parent: Option<u64>,
    pub(crate) fields: Fields,
    pub(crate) entered: bool,
    pub(crate) closed: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) level: Level,
    pub(crate) within: Option<u64>,
    pub(crate) fields: Fields,
}

/// Records spans and events.
#[derive(Debug, Clone, Default)]
pub(crate) struct SpanRecorder(Arc<Mutex<Log>>);

impl SpanRecorder {
    pub(crate) fn with<T>(&self, look: impl FnOnce(&mut Log) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn spans(&self, name: &str) -> Vec<(u64, Span)> {
        let named = |(id, span): (&u64, &Span)| (span.name == name).then(|| (*id, span.clone()));
        self.with(|log| log.spans.iter().filter_map(named).collect())
    }

    pub(crate) fn events(&self, message: &str) -> Vec<Seen> {
        let meant = |event: &&Seen| event.fields["message"] == message;
        self.with(|log| log.events.iter().filter(meant).cloned().collect())
    }

    /// All events, in their order.
    pub(crate) fn all(&self) -> Vec<Seen> {
        self.with(|log| log.events.clone())
    }

    /// The texts of the warnings, in their order.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let warning = |event: &Seen| {
            let warns = event.level == Level::WARN;
            warns.then(|| event.fields["message"].clone())
        };
        self.with(|log| log.events.iter().filter_map(warning).collect())
    }
}

struct Reader<'a>(&'a mut Fields);

impl Visit for Reader<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.to_string(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.to_string(), value.to_owned());
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for SpanRecorder {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let parent = context.span(id).and_then(|span| span.parent());
        let mut fields = Fields::new();
        attributes.record(&mut Reader(&mut fields));
        let span = Span {
            name: attributes.metadata().name(),
            parent: parent.map(|parent| parent.id().into_u64()),
            fields,
            entered: false,
            closed: false,
        };
        self.with(|log| log.spans.insert(id.into_u64(), span));
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        self.with(|log| {
            let span = log.spans.get_mut(&id.into_u64()).expect("it is open");
            values.record(&mut Reader(&mut span.fields));
        });
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::new();
        event.record(&mut Reader(&mut fields));
        let seen = Seen {
            level: *event.metadata().level(),
            within: context.event_span(event).map(|span| span.id().into_u64()),
            fields,
        };
        self.with(|log| log.events.push(seen));
    }

    fn on_enter(&self, id: &Id, _: Context<'_, S>) {
        self.with(|log| {
            log.spans
                .get_mut(&id.into_u64())
                .expect("it is open")
                .entered = true;
        });
    }

    fn on_close(&self, id: Id, _: Context<'_, S>) {
        self.with(|log| {
            log.spans
                .get_mut(&id.into_u64())
                .expect("it is open")
                .closed = true;
        });
    }
}
