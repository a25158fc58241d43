//! Optional headers beside a body.

use std::{collections::BTreeMap, sync::Arc};

/// Text beside the body, by name: a trace context, a content type, a tenant.
///
/// Their bytes count towards the message's size. Empty headers cost no allocation, and cloning
/// copies a pointer.
///
/// ```
/// use queue_core::Headers;
///
/// let headers = Headers::new().with("content-type", "application/json");
/// assert_eq!(headers.get("content-type"), Some("application/json"));
/// assert_eq!(headers.size(), 28);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Headers(Option<Arc<BTreeMap<String, String>>>);

impl Headers {
    /// No headers.
    pub const fn new() -> Self {
        Self(None)
    }

    /// Adds a header; one of the same name is replaced.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let map = self.0.get_or_insert_default();
        Arc::make_mut(map).insert(name.into(), value.into());
        self
    }

    /// The value under this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.as_ref()?.get(name).map(String::as_str)
    }

    /// Names and values, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let entries = self.0.iter().flat_map(|map| map.iter());
        entries.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Bytes of all names and values.
    #[inline]
    pub fn size(&self) -> usize {
        // Most messages have none, and a push asks for the size of each message.
        match self.0.is_none() {
            true => 0,
            false => self.added_up(),
        }
    }

    #[inline(never)]
    fn added_up(&self) -> usize {
        let sizes = self.iter().map(|(name, value)| name.len() + value.len());
        sizes.sum()
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Headers {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(entries: I) -> Self {
        entries
            .into_iter()
            .fold(Self::new(), |headers, (name, value)| {
                headers.with(name, value)
            })
    }
}
