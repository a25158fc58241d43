use bytes::Bytes;
use queue_core::Timestamp;

use super::resp;
use crate::{history::CallId, plan::Process};

/// A request on its way to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The request's words. The second word of a script's call is the hash, or the text, of
    /// queue-redis's own script, even if another replaces it.
    pub words: Vec<Bytes>,
    /// The script that it calls, such as `reliable/settle_and_lease`.
    pub script: Option<&'static str>,
    /// The process whose client sent it.
    pub process: Process,
    /// The recorded call for which the client sent it. `None` if it is for no call, such as opening a queue, or for
    /// several calls that are sent as one.
    pub call: Option<CallId>,
}

impl Request {
    /// The script's keys; empty if the request calls no script.
    pub fn keys(&self) -> &[Bytes] {
        let (first, last) = self.split();
        &self.words[first..last]
    }

    /// The script's keys.
    pub fn keys_mut(&mut self) -> &mut [Bytes] {
        let (first, last) = self.split();
        &mut self.words[first..last]
    }

    /// The script's arguments, `ARGV[1]` first: the time in milliseconds, then the configuration,
    /// then the script's own.
    pub fn arguments(&self) -> &[Bytes] {
        &self.words[self.split().1..]
    }

    /// The script's arguments.
    pub fn arguments_mut(&mut self) -> &mut [Bytes] {
        let last = self.split().1;
        &mut self.words[last..]
    }

    /// Whether the request belongs to a client's own waiting, on behalf of all its calls that wait.
    pub(super) fn waits(&self) -> bool {
        self.script
            .is_some_and(|script| script.starts_with("waiting/"))
    }

    /// Sets the time in the call.
    pub(super) fn set_time(&mut self, now: Timestamp) {
        if let Some(time) = self.arguments_mut().first_mut() {
            *time = now.as_millis().to_string().into();
        }
    }

    /// The position of the first key, and the one after the last.
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
