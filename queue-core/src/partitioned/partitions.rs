//! The partitions of an opened queue, and calls to one or all of them.

use std::sync::Arc;

use futures_util::future::join_all;

use super::{
    confirming::Confirmations,
    round_robin::RoundRobin,
    split::{Answers, PartitionShare, split, together},
};
use crate::{
    AnyQueue, Error, QueueKind, QueueName, Result,
    call::{Answered, Call, Service},
};

/// The partitions of one opened queue.
#[derive(Debug)]
pub(super) struct Partitions {
    pub(super) name: QueueName,
    pub(super) kind: QueueKind,
    /// This handle's limit on bodies, which is checked before any partition sees its share of a batch.
    pub(super) max_body: usize,
    pub(super) queues: Vec<AnyQueue>,
    pub(super) round_robin: RoundRobin,
    pub(super) confirmations: Arc<Confirmations>,
}

impl Partitions {
    pub(super) const fn count(&self) -> usize {
        self.queues.len()
    }

    /// Makes a call to one partition.
    pub(super) async fn call<A: Answered>(&self, partition: usize, call: Call) -> Result<A> {
        self.confirmations.called(partition).await;
        A::of(self.queues[partition].call(call).await?)
    }

    /// Makes the same call to all partitions, at the same time, to read.
    pub(super) async fn read_all<A: Answered>(&self, call: &Call) -> Result<Vec<A>> {
        self.ask_all(call).await.into_iter().collect()
    }

    /// Makes the same call to all partitions, at the same time, to change something. After an error the
    /// change holds for some of them.
    pub(super) async fn change_all<A: Answered>(&self, call: &Call) -> Result<Vec<A>> {
        together(self.ask_all(call).await)
    }

    async fn ask_all<A: Answered>(&self, call: &Call) -> Vec<Result<A>> {
        let partitions = 0..self.count();
        join_all(partitions.map(|partition| self.call(partition, call.clone()))).await
    }

    /// Gives each partition its share of a batch that names messages, at the same time. The answer for a message of a
    /// missing partition is `absent`.
    pub(super) async fn share_known<T, A: Clone>(
        &self,
        shares: Vec<PartitionShare<T>>,
        call: impl Fn(Vec<T>) -> Call,
        absent: A,
        answers: &mut Answers<A>,
    ) -> Result<()>
    where
        Vec<A>: Answered,
    {
        let known = |share: &PartitionShare<T>| share.partition < self.count();
        let (known, unknown): (Vec<_>, Vec<_>) = shares.into_iter().partition(known);
        let calls = known.into_iter().map(|share| {
            let called = self.call::<Vec<A>>(share.partition, call(share.entries));
            async move { Ok((share.places, called.await?)) }
        });
        for (places, answered) in together(join_all(calls).await)? {
            answers.put(&places, answered)?;
        }
        for share in unknown {
            answers.put(&share.places, vec![absent.clone(); share.places.len()])?;
        }
        Ok(())
    }

    /// Splits a batch that names messages, and gives each partition its share.
    pub(super) async fn by_partition<T, U, A: Clone>(
        &self,
        batch: Vec<T>,
        partition_of: impl Fn(T) -> (usize, U),
        call: impl Fn(Vec<U>) -> Call,
        absent: A,
    ) -> Result<Vec<A>>
    where
        Vec<A>: Answered,
    {
        let mut answers = Answers::to(batch.len());
        let shares = split(batch, partition_of);
        self.share_known(shares, call, absent, &mut answers).await?;
        answers.all()
    }

    /// The error of a call that a queue of partitions does not have.
    pub(super) fn no_such_call(&self, call: &Call) -> Error {
        let message = format!(
            "a {} queue of several partitions has no {}",
            self.kind,
            call.name()
        );
        Error::invalid(message).with_queue(&self.name)
    }
}
