//! Queues of values instead of bytes.

mod bounded;
mod confirmed;
mod consumer;
mod dead;
mod delay;
mod delivery;
mod grouped;
mod job;
mod jobs;
mod message;
mod peek;
mod priority;
mod queues;
mod reliable;
mod result;
mod rotating;

use std::{fmt, sync::Arc};

use bytes::Bytes;
use serde::{Serialize, de::DeserializeOwned};

pub use self::{
    dead::TypedDeadLetter,
    delivery::{TypedDelivery, TypedMessage},
    job::{Job, check_job_name},
    jobs::{BoundedJobs, DelayJobs, GroupedJobs, Jobs, PriorityJobs, ReliableJobs},
    message::MessageBuilder,
    peek::TypedPeeked,
    queues::Queues,
    result::JobResult,
};
use crate::{
    BoundedQueue, Codec, DelayQueue, GroupedQueue, Json, Leasing, Message, PriorityQueue,
    ReliableQueue, Result, RotatingQueue,
};

/// A handle to a queue of `T`: the queue and the [`Codec`] that writes and reads its bodies.
///
/// `push` puts a value in; `message` adds headers, a dedup key, and other settings of the kind
/// ([`MessageBuilder`]). Cloning copies pointers. [`queue`](Self::queue) has the calls that the handle lacks.
pub struct Typed<T, Q: ?Sized> {
    queue: Arc<Q>,
    name: Option<Arc<str>>,
    codec: Arc<dyn Codec<T>>,
}

/// A reliable queue of `T`.
pub type Reliable<T> = Typed<T, dyn ReliableQueue>;
/// A delay queue of `T`.
pub type Delay<T> = Typed<T, dyn DelayQueue>;
/// A priority queue of `T`.
pub type Priority<T> = Typed<T, dyn PriorityQueue>;
/// A grouped queue of `T`.
pub type Grouped<T> = Typed<T, dyn GroupedQueue>;
/// A bounded queue of `T`.
pub type Bounded<T> = Typed<T, dyn BoundedQueue>;
/// A rotating queue of `T`.
pub type Rotating<T> = Typed<T, dyn RotatingQueue>;
/// Any queue of `T` that hands out messages under leases; the handle of each leasing kind converts into it.
pub type Consumer<T> = Typed<T, dyn Leasing>;

impl<T: Serialize + DeserializeOwned + 'static, Q: ?Sized> Typed<T, Q> {
    /// A handle that writes and reads JSON.
    pub fn new(queue: Arc<Q>) -> Self {
        Self::with_codec(queue, Json)
    }
}

impl<T: 'static, Q: ?Sized> Typed<T, Q> {
    /// A handle with this codec.
    pub fn with_codec(queue: Arc<Q>, codec: impl Codec<T>) -> Self {
        Self {
            queue,
            name: None,
            codec: Arc::new(codec),
        }
    }

    /// The same queue through another codec.
    #[must_use]
    pub fn codec(self, codec: impl Codec<T>) -> Self {
        Self {
            codec: Arc::new(codec),
            ..self
        }
    }

    /// Sets the name under which reports and metrics show the queue, in place of the queue's own name. It
    /// changes nothing else.
    #[must_use]
    pub fn named(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The name under which reports show the queue, if it has one.
    pub const fn name(&self) -> Option<&Arc<str>> {
        self.name.as_ref()
    }

    /// The queue of bytes beneath: batches of messages with headers and keys, and an operator's
    /// calls.
    pub const fn queue(&self) -> &Arc<Q> {
        &self.queue
    }

    /// The body for this value, for a call on [`queue`](Self::queue).
    ///
    /// # Errors
    ///
    /// `Codec` if the value has no encoding.
    pub fn encode(&self, value: &T) -> Result<Bytes> {
        self.codec.encode(value)
    }

    /// The value in this body.
    ///
    /// # Errors
    ///
    /// `Codec` if the body is not such a value.
    pub fn decode(&self, body: &Bytes) -> Result<T> {
        self.codec.decode(body)
    }

    fn decode_all(&self, messages: Vec<Message>) -> Vec<TypedMessage<T>> {
        let typed = |message| self.decode_message(message);
        messages.into_iter().map(typed).collect()
    }

    fn decode_message(&self, message: Message) -> TypedMessage<T> {
        TypedMessage {
            id: message.id,
            body: self.decode(&message.body),
            headers: message.headers,
        }
    }
}

// By hand, so that `T` need not be `Clone`.
impl<T, Q: ?Sized> Clone for Typed<T, Q> {
    fn clone(&self) -> Self {
        Self {
            queue: Arc::clone(&self.queue),
            name: self.name.clone(),
            codec: Arc::clone(&self.codec),
        }
    }
}

impl<T, Q: fmt::Debug + ?Sized> fmt::Debug for Typed<T, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Typed")
            .field("queue", &self.queue)
            .field("name", &self.name)
            .field("codec", &self.codec)
            .finish()
    }
}
