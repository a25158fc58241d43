//! Scripts' replies, read value by value.

use std::time::Duration;

use bytes::Bytes;
use queue_core::{Counters, Error, ErrorKind, Outcome, QueueName, Result};
use redis::Value;
use redis_link::{Client, Script};

/// A script's reply, read from its first value on.
#[derive(Debug)]
pub(crate) struct Reply {
    script: &'static Script,
    queue: Option<QueueName>,
    client: Option<Client>,
    values: std::vec::IntoIter<Value>,
}

impl Reply {
    /// A reply of one value, or of several.
    pub(crate) fn new(script: &'static Script, value: Value) -> Self {
        let values = match value {
            Value::Array(values) => values,
            single => vec![single],
        };
        Self {
            script,
            queue: None,
            client: None,
            values: values.into_iter(),
        }
    }

    /// The same reply, with this queue named in its errors.
    pub(crate) fn of(mut self, queue: &QueueName) -> Self {
        self.queue = Some(queue.clone());
        self
    }

    /// The same reply, received by this client. If the reply cannot be read, the client's connection is tested.
    pub(crate) fn by(mut self, client: &Client) -> Self {
        self.client = Some(client.clone());
        self
    }

    /// Whether the reply is this status word alone.
    pub(crate) fn is_status(&self, word: &str) -> bool {
        matches!(self.values.as_slice(), [Value::SimpleString(status)] if status == word)
    }

    /// The number of values left.
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// The next value as a number.
    pub(crate) fn number(&mut self) -> Result<i64> {
        match self.values.next() {
            Some(Value::Int(number)) => Ok(number),
            _ => Err(self.unexpected()),
        }
    }

    /// The next value as a count.
    pub(crate) fn count(&mut self) -> Result<u64> {
        let number = self.number()?;
        u64::try_from(number).map_err(|_| self.unexpected())
    }

    /// The next value as milliseconds; a value below zero means none.
    pub(crate) fn time(&mut self) -> Result<Option<Duration>> {
        Ok(u64::try_from(self.number()?)
            .ok()
            .map(Duration::from_millis))
    }

    /// The next value as bytes.
    pub(crate) fn bytes(&mut self) -> Result<Bytes> {
        match self.values.next() {
            Some(Value::BulkString(bytes)) => Ok(bytes.into()),
            _ => Err(self.unexpected()),
        }
    }

    /// The next value as text.
    pub(crate) fn text(&mut self) -> Result<String> {
        let bytes = self.bytes()?;
        String::from_utf8(bytes.into()).map_err(|_| self.unexpected())
    }

    /// The next value as counters, by their names, so that a missing one is an error.
    pub(crate) fn counters(&mut self) -> Result<Counters> {
        let bytes = self.bytes()?;
        serde_json::from_slice(&bytes).map_err(|error| self.wrong(&format!(": {error}")))
    }

    /// All remaining values, each as bytes that `read` understands.
    pub(crate) fn rest<T>(self, mut read: impl FnMut(Bytes) -> Option<T>) -> Result<Vec<T>> {
        self.rest_into(|bytes, _, rest| {
            rest.push(read(bytes)?);
            Some(())
        })
    }

    /// All remaining values, each as bytes from which `read` makes one or several results. `read` may also take the
    /// next value.
    pub(crate) fn rest_into<T>(
        mut self,
        mut read: impl FnMut(Bytes, &mut dyn FnMut() -> Option<Bytes>, &mut Vec<T>) -> Option<()>,
    ) -> Result<Vec<T>> {
        let mut rest = Vec::with_capacity(self.len());
        while self.len() > 0 {
            let bytes = self.bytes()?;
            let made = read(bytes, &mut || self.bytes().ok(), &mut rest);
            made.ok_or_else(|| self.unexpected())?;
        }
        Ok(rest)
    }

    /// The next value as one status letter for each entry of a batch.
    pub(crate) fn statuses<T>(
        &mut self,
        entries: usize,
        read: impl Fn(u8) -> Option<T>,
    ) -> Result<Vec<T>> {
        let letters = self.bytes()?;
        let answers: Option<Vec<T>> = letters.iter().copied().map(read).collect();
        answers
            .filter(|answers| answers.len() == entries)
            .ok_or_else(|| self.unexpected())
    }

    /// The ids of `entries` entries: one id for each, negative if the entry existed before; or the last id, if all are
    /// new and consecutive.
    pub(crate) fn ids(&mut self, entries: usize) -> Result<Vec<i64>> {
        if self.len() == 1 && entries > 1 {
            let last = self.number()?;
            let before = i64::try_from(entries - 1).unwrap_or(i64::MAX);
            let first = last.checked_sub(before).filter(|first| *first > 0);
            let first = first.ok_or_else(|| self.unexpected())?;
            return Ok((first..=last).collect());
        }
        if self.len() != entries {
            return Err(self.unexpected());
        }
        (0..entries).map(|_| self.number()).collect()
    }

    /// The error for a reply that no script gives.
    pub(crate) fn unexpected(&self) -> Error {
        self.wrong(", or a stored message is damaged")
    }

    fn wrong(&self, more: &str) -> Error {
        if let Some(client) = &self.client {
            client.mark_suspect();
        }
        let name = self.script.name();
        let message = format!("the script {name} answered what it should not{more}");
        let error = Error::new(ErrorKind::Internal, message).with_outcome(Outcome::Unknown);
        match &self.queue {
            Some(queue) => error.with_queue(queue),
            None => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Script;

    static SCRIPT: Script = Script::new("", "test", "lib/call");

    #[test]
    fn ids_come_one_by_one_or_by_the_last() {
        let ids = |value, entries| Reply::new(&SCRIPT, value).ids(entries);
        assert_eq!(ids(Value::Int(7), 3).unwrap(), [5, 6, 7]);
        assert_eq!(ids(Value::Int(7), 1).unwrap(), [7]);
        let each = vec![Value::Int(4), Value::Int(-2)];
        assert_eq!(ids(Value::Array(each.clone()), 2).unwrap(), [4, -2]);
        assert!(ids(Value::Array(each), 3).is_err());
        assert!(ids(Value::Int(2), 3).is_err(), "the first would be no id");
    }

    #[test]
    fn a_counter_that_is_missing_is_named() {
        let all = serde_json::to_value(Counters::default()).unwrap();
        let read = |counters: &serde_json::Value| {
            let bytes = Value::BulkString(counters.to_string().into());
            Reply::new(&SCRIPT, bytes).counters()
        };
        assert_eq!(read(&all).unwrap(), Counters::default());
        for name in ["accepted", "purged", "depth", "paused"] {
            let mut others = all.clone();
            others.as_object_mut().unwrap().remove(name).unwrap();
            let error = read(&others).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
    }

    #[test]
    fn another_answer_is_an_error_that_names_the_script() {
        let error = Reply::new(&SCRIPT, Value::Nil).count().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal);
        assert!(error.to_string().contains("test"));
    }
}
