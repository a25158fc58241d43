//! Batches, split by partition and put together again.

pub(super) use crate::queue::half_way;
use crate::{Error, Outcome, Result};

/// The entries of a batch that go to one partition, and their places in the batch.
#[derive(Debug)]
pub(super) struct PartitionShare<T> {
    pub(super) partition: usize,
    pub(super) entries: Vec<T>,
    pub(super) places: Vec<usize>,
}

impl<T> PartitionShare<T> {
    /// These entries of a batch, with their places, merged with the partition's own share in order.
    pub(super) fn with(partition: usize, mut entries: Vec<(usize, T)>, own: Option<Self>) -> Self {
        if let Some(own) = own {
            entries.extend(own.places.into_iter().zip(own.entries));
            entries.sort_by_key(|(place, _)| *place);
        }
        let (places, entries) = entries.into_iter().unzip();
        Self {
            partition,
            entries,
            places,
        }
    }
}

/// Splits a batch, in order. For each entry, `partition_of` returns its partition and the entry to send
/// there.
pub(super) fn split<T, U>(
    batch: Vec<T>,
    partition_of: impl Fn(T) -> (usize, U),
) -> Vec<PartitionShare<U>> {
    let mut shares: Vec<PartitionShare<U>> = Vec::new();
    let count = batch.len();
    for (place, entry) in batch.into_iter().enumerate() {
        let (partition, entry) = partition_of(entry);
        let known = shares.iter().position(|share| share.partition == partition);
        let known = known.unwrap_or_else(|| {
            shares.push(PartitionShare {
                partition,
                entries: Vec::with_capacity(count - place),
                places: Vec::with_capacity(count - place),
            });
            shares.len() - 1
        });
        shares[known].entries.push(entry);
        shares[known].places.push(place);
    }
    shares
}

/// The answers to a batch, collected from the partitions.
#[derive(Debug)]
pub(super) struct Answers<A>(Vec<Option<A>>);

impl<A> Answers<A> {
    pub(super) fn to(count: usize) -> Self {
        Self(std::iter::repeat_with(|| None).take(count).collect())
    }

    /// Puts the answers to a share into its places.
    ///
    /// # Errors
    ///
    /// `Internal` if the partition answered another number of entries.
    pub(super) fn put(&mut self, places: &[usize], answers: Vec<A>) -> Result<()> {
        if answers.len() != places.len() {
            return Err(Error::unanswered());
        }
        for (place, answer) in places.iter().zip(answers) {
            self.0[*place] = Some(answer);
        }
        Ok(())
    }

    /// All answers, in the order of the batch.
    pub(super) fn all(self) -> Result<Vec<A>> {
        self.0
            .into_iter()
            .collect::<Option<_>>()
            .ok_or_else(Error::unanswered)
    }
}

/// The answers of several partitions to one call. If a partition failed, returns its error: of unknown
/// outcome, unless no partition can have changed anything.
pub(super) fn together<T>(answered: Vec<Result<T>>) -> Result<Vec<T>> {
    let applied = |answer: &Result<T>| match answer {
        Ok(_) => true,
        Err(error) => error.outcome() == Outcome::Unknown,
    };
    let partly = answered.iter().any(applied);
    let all: Result<Vec<T>> = answered.into_iter().collect();
    all.map_err(|error| half_way(error, partly))
}
