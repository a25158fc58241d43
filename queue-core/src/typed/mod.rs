//! Queues of values instead of bytes.

mod bounded;
mod confirmed;
mod consumer;
mod dead;
mod delay;
mod delivery;
mod grouped;
mod job;
mod message;
mod opening;
mod peek;
mod priority;
mod queues;
mod reliable;
mod result;
mod rotating;
mod takes;

use std::{fmt, marker::PhantomData, sync::Arc};

use bytes::Bytes;

pub use self::{
    consumer::AsLeasing,
    dead::TypedDeadLetter,
    delivery::{TypedDelivery, TypedMessage},
    job::{Job, Jobs, check_job_name},
    message::{MessageBuilder, Sent},
    opening::{Kind, Opening},
    peek::TypedPeeked,
    queues::Queues,
    result::JobResult,
    takes::Takes,
};
use crate::{
    BoundedQueue, Decode, DelayQueue, Due, Encode, GroupedQueue, Json, Leasing, LeasingExt,
    Message, MessageId, PriorityQueue, Push, Pushed, ReliableQueue, Rescheduled, Result,
    RotatingQueue,
};

/// A handle to a queue of `T`: the queue and the codec that writes and reads its bodies.
///
/// `push` puts a value in; `message` adds headers, a dedup key, and other settings of the kind
/// ([`MessageBuilder`]). Cloning copies pointers. [`queue`](Self::queue) has the calls that the handle lacks.
///
/// A call that pushes needs a codec that [`Encode`]s the value: with JSON, it implements `Serialize`. A call that
/// receives needs one that [`Decode`]s a `T`: with JSON, `T` implements `DeserializeOwned`. A queue of [`Jobs`] takes
/// values of several types.
pub struct Typed<T, Q: ?Sized, C: ?Sized = Json> {
    queue: Arc<Q>,
    name: Option<Arc<str>>,
    codec: Arc<C>,
    values: PhantomData<fn(T) -> T>,
}

/// A reliable queue of `T`.
pub type Reliable<T, C = Json> = Typed<T, dyn ReliableQueue, C>;
/// A delay queue of `T`.
pub type Delay<T, C = Json> = Typed<T, dyn DelayQueue, C>;
/// A priority queue of `T`.
pub type Priority<T, C = Json> = Typed<T, dyn PriorityQueue, C>;
/// A grouped queue of `T`.
pub type Grouped<T, C = Json> = Typed<T, dyn GroupedQueue, C>;
/// A bounded queue of `T`.
pub type Bounded<T, C = Json> = Typed<T, dyn BoundedQueue, C>;
/// A rotating queue of `T`.
pub type Rotating<T, C = Json> = Typed<T, dyn RotatingQueue, C>;
/// Any queue of `T` that hands out messages under leases, in any codec; the handle of each leasing kind converts into it.
/// A queue of [`Jobs`] converts into one of [`Bytes`], for a worker with a router.
pub type Consumer<T> = Typed<T, dyn Leasing, dyn Decode<T>>;

impl<T, Q: ?Sized> Typed<T, Q> {
    /// A handle that writes and reads JSON.
    pub fn new(queue: Arc<Q>) -> Self {
        Self::with_codec(queue, Json)
    }
}

impl<T, Q: ?Sized, C> Typed<T, Q, C> {
    /// A handle with this codec.
    pub fn with_codec(queue: Arc<Q>, codec: C) -> Self {
        Self {
            queue,
            name: None,
            codec: Arc::new(codec),
            values: PhantomData,
        }
    }
}

impl<T, Q: ?Sized, C: ?Sized> Typed<T, Q, C> {
    /// The same queue through another codec. A worker's router needs the same codec.
    #[must_use]
    pub fn codec<New>(self, codec: New) -> Typed<T, Q, New> {
        Typed {
            queue: self.queue,
            name: self.name,
            codec: Arc::new(codec),
            values: PhantomData,
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

    /// The message with this value, for a call on [`queue`](Self::queue): its body, and for a [`Job`] the name of its
    /// type.
    ///
    /// # Errors
    ///
    /// `Codec` if the value has no encoding; `Invalid` if [`Job::NAME`] is no name.
    pub fn encode<V: ?Sized>(&self, value: &V) -> Result<Push>
    where
        T: Takes<V>,
        C: Encode<V>,
    {
        Ok(Push::new(self.codec.encode(value)?).with_headers(T::headers()?))
    }

    /// The value in this body.
    ///
    /// # Errors
    ///
    /// `Codec` if the body is not such a value.
    pub fn decode(&self, body: &Bytes) -> Result<T>
    where
        C: Decode<T>,
    {
        self.codec.decode(body)
    }

    fn decode_all(&self, messages: Vec<Message>) -> Vec<TypedMessage<T>>
    where
        C: Decode<T>,
    {
        let typed = |message| self.decode_message(message);
        messages.into_iter().map(typed).collect()
    }

    fn decode_message(&self, message: Message) -> TypedMessage<T>
    where
        C: Decode<T>,
    {
        TypedMessage {
            id: message.id,
            body: self.decode(&message.body),
            headers: message.headers,
        }
    }
}

impl<T, Q: Leasing + ?Sized, C: Send + Sync + ?Sized> Typed<T, Q, C> {
    async fn push_encoded(&self, pushes: &[Push]) -> Result<Vec<MessageId>> {
        let pushed = self.queue.push_all(pushes).await?;
        pushed.into_iter().map(accepted).collect()
    }

    /// Gives an undelivered message another due time, or says that it is too late (D4).
    ///
    /// # Errors
    ///
    /// The errors of [`Leasing::reschedule`].
    pub async fn reschedule(
        &self,
        id: MessageId,
        due: impl Into<Due> + Send,
    ) -> Result<Rescheduled> {
        self.queue.reschedule_one(id, due).await
    }
}

fn accepted(pushed: Pushed) -> Result<MessageId> {
    Sent::of(pushed).map(Sent::id)
}

// By hand, so that neither `T` nor the codec need be `Clone`.
impl<T, Q: ?Sized, C: ?Sized> Clone for Typed<T, Q, C> {
    fn clone(&self) -> Self {
        Self {
            queue: Arc::clone(&self.queue),
            name: self.name.clone(),
            codec: Arc::clone(&self.codec),
            values: PhantomData,
        }
    }
}

impl<T, Q: fmt::Debug + ?Sized, C: fmt::Debug + ?Sized> fmt::Debug for Typed<T, Q, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Typed")
            .field("queue", &self.queue)
            .field("name", &self.name)
            .field("codec", &self.codec)
            .finish()
    }
}
