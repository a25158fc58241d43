//! The state of the live view, and its changes by keys.

use std::cmp::Reverse;

use queue_core::{Error, is_operators_list, with_sources};
use queue_ops::{Diagnosis, Sample};
use ratatui::widgets::TableState;

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

/// A key that the view knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    Char(char),
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    Enter,
    Escape,
    Backspace,
    /// Control and c.
    Quit,
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
    /// All queues, the worst first.
    samples: Vec<Sample>,
    /// The queue that is chosen, of those that are shown.
    pub(crate) table: TableState,
    /// The rows that fit, as they were drawn last.
    pub(crate) rows: usize,
    /// Queues with this in their names are shown.
    pub(crate) filter: String,
    /// Whether keys change the filter.
    pub(crate) filters: bool,
    pub(crate) front: Front,
    pub(crate) error: Option<String>,
}

impl View {
    pub(crate) fn new(samples: Vec<Sample>) -> Self {
        let mut view = Self {
            samples: Vec::new(),
            table: TableState::new(),
            rows: 1,
            filter: String::new(),
            filters: false,
            front: Front::Nothing,
            error: None,
        };
        view.sampled(Ok(samples));
        view
    }

    /// The queues that the filter lets through, the worst first.
    pub(crate) fn shown(&self) -> impl Iterator<Item = &Sample> {
        let fits = |sample: &&Sample| sample.info.name.as_str().contains(&self.filter);
        self.samples.iter().filter(fits)
    }

    /// The number of all queues.
    pub(crate) fn count(&self) -> usize {
        self.samples.len()
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
        let chosen = self.chosen().map(|sample| sample.info.name.clone());
        samples.sort_by_cached_key(rank);
        self.samples = samples;
        let is_chosen = |sample: &Sample| Some(&sample.info.name) == chosen.as_ref();
        let at = self.shown().position(is_chosen);
        self.choose(at.unwrap_or_else(|| self.selected()));
    }

    fn selected(&self) -> usize {
        self.table.selected().unwrap_or(0)
    }

    fn choose(&mut self, at: usize) {
        let last = self.shown().count().saturating_sub(1);
        self.table.select(Some(at.min(last)));
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

    fn chosen(&self) -> Option<&Sample> {
        self.shown().nth(self.selected())
    }

    pub(crate) fn press(&mut self, key: Key) -> Asked {
        if key == Key::Quit {
            return Asked::Quit;
        }
        if let Front::Pause(queue, pause) = &self.front {
            let asked = match key {
                Key::Char('y') => Asked::Pause(queue.clone(), *pause),
                _ => Asked::Nothing,
            };
            self.front = Front::Nothing;
            return asked;
        }
        if self.front != Front::Nothing {
            self.front = Front::Nothing;
            return Asked::Nothing;
        }
        let moves = match key {
            Key::Char('j') if !self.filters => Key::Down,
            Key::Char('k') if !self.filters => Key::Up,
            Key::Char('g') if !self.filters => Key::First,
            Key::Char('G') if !self.filters => Key::Last,
            key => key,
        };
        if self.moves(moves) {
            return Asked::Nothing;
        }
        if self.filters {
            self.change_filter(key);
            return Asked::Nothing;
        }
        self.act(key)
    }

    /// Chooses another queue, if this is a key for that.
    fn moves(&mut self, key: Key) -> bool {
        let (at, page) = (self.selected(), self.rows.max(1));
        let to = match key {
            Key::Up => at.saturating_sub(1),
            Key::Down => at + 1,
            Key::PageUp => at.saturating_sub(page),
            Key::PageDown => at + page,
            Key::First => 0,
            Key::Last => usize::MAX,
            _ => return false,
        };
        self.choose(to);
        true
    }

    fn change_filter(&mut self, key: Key) {
        match key {
            Key::Char(character) => self.filter.push(character),
            Key::Backspace => drop(self.filter.pop()),
            Key::Escape => {
                self.filter.clear();
                self.filters = false;
            }
            _ => {
                self.filters = false;
                return;
            }
        }
        self.choose(0);
    }

    fn act(&mut self, key: Key) -> Asked {
        let chosen = self.chosen();
        let name = chosen.map(|sample| sample.info.name.to_string());
        let counters = chosen.and_then(|sample| sample.info.counters);
        match (key, name) {
            (Key::Char('q'), _) => return Asked::Quit,
            (Key::Char('?'), _) => self.front = Front::Help,
            (Key::Char('/'), _) => self.filters = true,
            (Key::Escape, _) => self.change_filter(key),
            (Key::Enter, Some(queue)) => return Asked::Why(queue),
            (Key::Char('p'), Some(queue)) => {
                if let Some(counters) = counters {
                    self.front = Front::Pause(queue, !counters.paused);
                }
            }
            _ => {}
        }
        Asked::Nothing
    }
}

/// The place of a queue in the list: what cannot be read, then what stands still, then what nobody has, then by the age
/// of the oldest ready message. Lists for operators are last.
fn rank(sample: &Sample) -> (u8, Reverse<u128>) {
    let Some(counters) = &sample.info.counters else {
        return (0, Reverse(0));
    };
    let depth = counters.depth;
    let age = counters.oldest_ready.filter(|_| depth.ready > 0);
    let age = Reverse(age.unwrap_or_default().as_millis());
    let stands = counters.paused && depth.ready > 0 || !sample.stands_for.is_zero();
    let class = match stands {
        _ if is_operators_list(&sample.info.name) => 4,
        true => 1,
        false if depth.ready > 0 && depth.leased == 0 => 2,
        false => 3,
    };
    (class, age)
}

#[cfg(test)]
mod tests {
    use std::{num::NonZeroUsize, sync::Arc};

    use queue_core::{Backend, Queues, WorkerRecord, WorkerRegistration};
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
        assert_eq!(view.press(Key::Enter), Asked::Why("b".to_owned()));
        assert_eq!(view.press(Key::Char('j')), Asked::Nothing);
        assert_eq!(view.press(Key::Enter), Asked::Why("a".to_owned()));
        view.press(Key::Char('j'));
        assert_eq!(
            view.press(Key::Enter),
            Asked::Why("a".to_owned()),
            "there is no third one"
        );
        view.press(Key::Char('k'));
        assert_eq!(view.press(Key::Enter), Asked::Why("b".to_owned()));
        assert_eq!(view.press(Key::Char('q')), Asked::Quit);
    }

    #[tokio::test]
    async fn a_pause_has_to_be_confirmed() {
        let mut view = view().await;
        view.press(Key::Char('p'));
        assert_eq!(
            view.front,
            Front::Pause("b".to_owned(), false),
            "it is paused already"
        );
        let letters = ['n', 'p', 'q', 'Y'].map(Key::Char);
        for other in letters.into_iter().chain([Key::Enter, Key::Escape]) {
            assert_eq!(view.press(other), Asked::Nothing, "{other:?}");
            assert_eq!(view.front, Front::Nothing);
            view.press(Key::Char('p'));
        }
        view.press(Key::Char('n'));
        view.press(Key::Char('j'));
        view.press(Key::Char('p'));
        assert_eq!(
            view.press(Key::Char('y')),
            Asked::Pause("a".to_owned(), true)
        );
        assert_eq!(view.front, Front::Nothing);
    }

    #[tokio::test]
    async fn an_error_leaves_the_last_samples() {
        let mut view = view().await;
        view.sampled(Err(Error::invalid("the server is gone")));
        assert_eq!(view.count(), 2);
        assert!(
            view.error
                .as_deref()
                .is_some_and(|error| error.contains("the server is gone"))
        );
    }

    /// The names that are shown, the chosen one in brackets.
    fn names(view: &View) -> String {
        let names =
            view.shown()
                .enumerate()
                .map(|(at, sample)| match view.table.selected() == Some(at) {
                    true => format!("[{}]", sample.info.name),
                    false => sample.info.name.to_string(),
                });
        names.collect::<Vec<_>>().join(" ")
    }

    #[tokio::test(start_paused = true)]
    async fn lists_for_operators_are_last_and_a_filter_chooses_names() {
        let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
        let queues = Queues::from(Arc::clone(&backend));
        for name in ["a", "orders-1", "orders-2", "z"] {
            queues.reliable(name).open::<u64>().await.unwrap();
        }
        let key = "1".to_owned();
        let mut worker = WorkerRegistration::open(&*backend, key).await.unwrap();
        worker.beat(&WorkerRecord::default()).await.unwrap();
        let last = queues.reliable("z").open::<u64>().await.unwrap();
        last.push(&1).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_secs(60)).await;
        let most = NonZeroUsize::new(200).unwrap();
        let mut view = View::new(Sampler::new(backend, most).sample().await.unwrap());
        assert_eq!(names(&view), "[z] a orders-1 orders-2 qk-workers");
        view.press(Key::Last);
        assert_eq!(names(&view), "z a orders-1 orders-2 [qk-workers]");
        view.rows = 2;
        view.press(Key::PageUp);
        assert_eq!(names(&view), "z a [orders-1] orders-2 qk-workers");
        for key in "/ordq".chars() {
            view.press(Key::Char(key));
        }
        assert_eq!(names(&view), "", "no letter is a command meanwhile");
        assert_eq!(view.press(Key::Enter), Asked::Nothing);
        view.press(Key::Char('/'));
        view.press(Key::Backspace);
        assert_eq!(names(&view), "[orders-1] orders-2");
        view.press(Key::Down);
        view.press(Key::Enter);
        assert_eq!(view.press(Key::Enter), Asked::Why("orders-2".to_owned()));
        view.press(Key::Escape);
        assert_eq!(view.count(), view.shown().count());
        assert_eq!(view.press(Key::Quit), Asked::Quit);
    }
}
