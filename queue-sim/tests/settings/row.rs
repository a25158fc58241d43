//! A row of the table: a setting, and the effects of its smallest and its largest value.

use std::{
    fmt::Debug,
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use queue_core::{ErrorKind, Result};

/// The effect of a value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Does {
    Serve,
    /// It is refused as `Invalid`, with a text that contains these words.
    Refuse(&'static str),
}

pub(crate) use Does::{Refuse, Serve};

pub(crate) struct Row {
    name: &'static str,
    /// Each value as shown, its expected effect, and the trial.
    trials: Vec<(String, Does, Trial)>,
}

type Trial = Box<dyn Fn() -> Result<()>>;

/// The row of this setting, with its smallest and its largest value.
pub(crate) fn row<V: Copy + Debug + 'static>(
    name: &'static str,
    least: (V, Does),
    most: (V, Does),
    set: impl Fn(V) -> Result<()> + Copy + 'static,
) -> Row {
    let trial = |(value, does): (V, Does)| -> (String, Does, Trial) {
        (format!("{value:?}"), does, Box::new(move || set(value)))
    };
    Row {
        name,
        trials: vec![trial(least), trial(most)],
    }
}

/// The row of a duration: zero, and the longest duration.
pub(crate) fn times(
    name: &'static str,
    least: Does,
    most: Does,
    set: impl Fn(Duration) -> Result<()> + Copy + 'static,
) -> Row {
    row(name, (Duration::ZERO, least), (Duration::MAX, most), set)
}

impl Row {
    /// The values whose effect is not the expected one.
    pub(crate) fn mistakes(&self) -> Vec<String> {
        let broken = |(value, does, trial): &(String, Does, Trial)| {
            let answer = catch_unwind(AssertUnwindSafe(trial));
            let mistake = match (does, answer) {
                (_, Err(panic)) => format!("panicked: {}", message(&*panic)),
                (Serve, Ok(Ok(()))) => return None,
                (Serve, Ok(Err(error))) => format!("is refused: {error:?}"),
                (Refuse(words), Ok(Ok(()))) => format!("serves, and {words:?} is meant"),
                (Refuse(words), Ok(Err(error))) => {
                    let named = error.to_string().contains(words);
                    if named && error.kind() == ErrorKind::Invalid {
                        return None;
                    }
                    format!("is refused without the words {words:?}: {error:?}")
                }
            };
            Some(format!("{}({value}) {mistake}", self.name))
        };
        self.trials.iter().filter_map(broken).collect()
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message")
}

/// Runs this in virtual time.
pub(crate) fn in_time<T>(trial: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    runtime.expect("a runtime").block_on(trial)
}
