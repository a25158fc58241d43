//! The state of the live view, and its changes by keys.

use std::cmp::Reverse;

use queue_core::{Error, with_sources};
use queue_ops::{Diagnosis, Sample};

/// The box in front of the list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Front {
    /// The list alone.
    Nothing,
    /// The keys.
    Help,
    /// A diagnosis.
    Why(Box<Diagnosis>),
    /// A question: whether to pause, or else to resume, this queue.
    Pause(String, bool),
}

/// A request by a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Asked {
    Nothing,
    Quit,
    /// The diagnosis of this queue.
    Why(String),
    /// To pause this queue, or else to resume it.
    Pause(String, bool),
}

#[derive(Debug)]
pub(crate) struct View {
    pub(crate) samples: Vec<Sample>,
    pub(crate) selected: usize,
    pub(crate) front: Front,
    pub(crate) error: Option<String>,
}

impl View {
    pub(crate) fn new(samples: Vec<Sample>) -> Self {
        let mut view = Self {
            samples: Vec::new(),
            selected: 0,
            front: Front::Nothing,
            error: None,
        };
        view.sampled(Ok(samples));
        view
    }

    /// Shows new samples, and keeps the selected queue. After an error, the last samples stay.
    pub(crate) fn sampled(&mut self, sampled: Result<Vec<Sample>, Error>) {
        let mut samples = match sampled {
            Ok(samples) => samples,
            Err(error) => {
                self.error = Some(with_sources(&error));
                return;
            }
        };
        self.error = None;
        let chosen = self.chosen();
        samples.sort_by_key(rank);
        self.samples = samples;
        let at = self
            .samples
            .iter()
            .position(|sample| Some(sample.info.name.as_str()) == chosen.as_deref());
        self.selected = at
            .unwrap_or(self.selected)
            .min(self.samples.len().saturating_sub(1));
    }

    pub(crate) fn explained(&mut self, diagnosis: Result<Diagnosis, Error>) {
        match diagnosis {
            Ok(diagnosis) => self.front = Front::Why(Box::new(diagnosis)),
            Err(error) => self.error = Some(with_sources(&error)),
        }
    }

    pub(crate) fn done(&mut self, done: Result<(), Error>) {
        self.error = done.err().map(|error| with_sources(&error));
    }

    fn chosen(&self) -> Option<String> {
        self.samples
            .get(self.selected)
            .map(|sample| sample.info.name.to_string())
    }

    pub(crate) fn press(&mut self, key: char) -> Asked {
        if let Front::Pause(queue, pause) = &self.front {
            let asked = match key {
                'y' => Asked::Pause(queue.clone(), *pause),
                _ => Asked::Nothing,
            };
            self.front = Front::Nothing;
            return asked;
        }
        if self.front != Front::Nothing {
            self.front = Front::Nothing;
            return Asked::Nothing;
        }
        let last = self.samples.len().saturating_sub(1);
        match (key, self.chosen()) {
            ('q', _) => return Asked::Quit,
            ('j', _) => self.selected = (self.selected + 1).min(last),
            ('k', _) => self.selected = self.selected.saturating_sub(1),
            ('?', _) => self.front = Front::Help,
            ('\n', Some(queue)) => return Asked::Why(queue),
            ('p', Some(queue)) => {
                let counters = self.samples[self.selected].info.counters;
                if let Some(counters) = counters {
                    self.front = Front::Pause(queue, !counters.paused);
                }
            }
            _ => {}
        }
        Asked::Nothing
    }
}

/// The place of a queue in the list: what cannot be read, then what stands still, then by the age of the
/// oldest ready message.
fn rank(sample: &Sample) -> (u8, Reverse<u128>) {
    let Some(counters) = &sample.info.counters else {
        return (3, Reverse(0));
    };
    let age = counters.oldest_ready.filter(|_| counters.depth.ready > 0);
    let age = Reverse(age.unwrap_or_default().as_millis());
    let stands = counters.paused && counters.depth.ready > 0 || !sample.stands_for.is_zero();
    match stands {
        true => (0, age),
        false => (1, age),
    }
}

#[cfg(test)]
mod tests {
    use std::{num::NonZeroUsize, sync::Arc};

    use queue_core::{Backend, Queues};
    use queue_memory::MemoryBackend;
    use queue_ops::Sampler;

    use super::*;

    /// Two queues: `b` is paused with a message, `a` has nothing.
    pub(in crate::top) async fn view() -> View {
        let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
        let queues = Queues::from(Arc::clone(&backend));
        queues.reliable("a").open::<u64>().await.unwrap();
        let other = queues.delay("b").open::<u64>().await.unwrap();
        other.push(&1, std::time::Duration::ZERO).await.unwrap();
        other.queue().pause().await.unwrap();
        let mut sampler = Sampler::new(backend, NonZeroUsize::MAX.min(200.try_into().unwrap()));
        View::new(sampler.sample().await.unwrap())
    }

    #[tokio::test]
    async fn the_worst_queue_is_on_top_and_keys_choose_another() {
        let mut view = view().await;
        assert_eq!(view.press('\n'), Asked::Why("b".to_owned()));
        assert_eq!(view.press('j'), Asked::Nothing);
        assert_eq!(view.press('\n'), Asked::Why("a".to_owned()));
        view.press('j');
        assert_eq!(
            view.press('\n'),
            Asked::Why("a".to_owned()),
            "there is no third one"
        );
        view.press('k');
        assert_eq!(view.press('\n'), Asked::Why("b".to_owned()));
        assert_eq!(view.press('q'), Asked::Quit);
    }

    #[tokio::test]
    async fn a_pause_has_to_be_confirmed() {
        let mut view = view().await;
        view.press('p');
        assert_eq!(
            view.front,
            Front::Pause("b".to_owned(), false),
            "it is paused already"
        );
        for other in ['n', '\n', 'p', 'q', 'Y', '\u{1b}'] {
            assert_eq!(view.press(other), Asked::Nothing, "{other:?}");
            assert_eq!(view.front, Front::Nothing);
            view.press('p');
        }
        view.press('n');
        view.press('j');
        view.press('p');
        assert_eq!(view.press('y'), Asked::Pause("a".to_owned(), true));
        assert_eq!(view.front, Front::Nothing);
    }

    #[tokio::test]
    async fn an_error_leaves_the_last_samples() {
        let mut view = view().await;
        view.sampled(Err(Error::invalid("the server is gone")));
        assert_eq!(view.samples.len(), 2);
        assert!(
            view.error
                .as_deref()
                .is_some_and(|error| error.contains("the server is gone"))
        );
    }
}
