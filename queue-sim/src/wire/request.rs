use bytes::Bytes;
use queue_core::Timestamp;

use super::resp;
use crate::{history::CallId, plan::Lane};

/// A request on its way to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Its words; of a script's call the second is the hash, or the text, of queue-redis's own
    /// script, also where another stands in for it.
    pub words: Vec<Bytes>,
    /// The script that it calls, such as `reliable/turn`.
    pub script: Option<&'static str>,
    /// Whose client sent it.
    pub lane: Lane,
    /// The recorded call that it is made for. None where it is for no call, such as opening a
    /// queue, or for several that go as one.
    pub call: Option<CallId>,
}

impl Request {
    /// A script's keys; none of what calls no script.
    pub fn keys(&self) -> &[Bytes] {
        let (first, last) = self.split();
        &self.words[first..last]
    }

    /// A script's keys.
    pub fn keys_mut(&mut self) -> &mut [Bytes] {
        let (first, last) = self.split();
        &mut self.words[first..last]
    }

    /// A script's arguments, `ARGV[1]` first: the time in milliseconds, then the configuration,
    /// then what the script says.
    pub fn arguments(&self) -> &[Bytes] {
        &self.words[self.split().1..]
    }

    /// A script's arguments.
    pub fn arguments_mut(&mut self) -> &mut [Bytes] {
        let last = self.split().1;
        &mut self.words[last..]
    }

    /// Whether it is about waiting: a client's own, for all its calls that wait.
    pub(super) fn waits(&self) -> bool {
        self.script
            .is_some_and(|script| script.starts_with("waiting/"))
    }

    /// The same call by another clock.
    pub(super) fn set_time(&mut self, now: Timestamp) {
        if let Some(time) = self.arguments_mut().first_mut() {
            *time = now.as_millis().to_string().into();
        }
    }

    /// Where the keys begin, and where they end.
    fn split(&self) -> (usize, usize) {
        if self.script.is_none() {
            return (self.words.len(), self.words.len());
        }
        let count = self.words.get(2).and_then(|count| resp::number(count));
        let count = count.and_then(|count| usize::try_from(count).ok());
        let last = 3 + count.unwrap_or(0);
        (3.min(self.words.len()), last.min(self.words.len()))
    }
}
