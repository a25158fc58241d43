//! The live view: the queues with their rates, the worst first.

mod screen;
mod view;

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use queue_core::{Backend, Error, ErrorKind};
use queue_ops::{Sampler, diagnose};

use tokio::{sync::mpsc, time::interval};

use self::view::{Asked, View};
use crate::{End, Outcome, open_leasing, output::Output};

/// Queues that are shown.
const MOST: usize = 200;

pub(crate) async fn run(backend: Arc<dyn Backend>, every: Duration, output: &Output) -> Outcome {
    let most = NonZeroUsize::new(MOST).expect("more than 0");
    let mut sampler = Sampler::new(Arc::clone(&backend), most);
    // Errors of the server are shown before the screen changes.
    let mut view = View::new(sampler.sample().await?);
    let mut terminal = ratatui::try_init().map_err(|error| {
        Error::new(
            ErrorKind::Configuration,
            format!("`qk top` needs a terminal: {error}"),
        )
    })?;
    let mut keys = keys();
    let mut ticks = interval(every);
    let ended = loop {
        if let Err(error) = terminal.draw(|frame| screen::draw(frame, &view)) {
            break Err(Error::new(
                ErrorKind::Configuration,
                format!("the terminal: {error}"),
            ));
        }
        let asked = tokio::select! {
            biased;
            key = keys.recv() => match key {
                Some(key) => view.press(key),
                None => Asked::Quit,
            },
            _ = ticks.tick() => {
                view.sampled(sampler.sample().await);
                Asked::Nothing
            }
        };
        match asked {
            Asked::Nothing => {}
            Asked::Quit => break Ok(End::Well),
            Asked::Why(queue) => {
                let diagnosis = diagnose(&*backend, &queue).await;
                view.explained(diagnosis.map(|diagnosis| output.complete(diagnosis)));
            }
            Asked::Pause(queue, pause) => {
                let done = set_paused(&*backend, &queue, pause).await;
                view.done(done);
                view.sampled(sampler.sample().await);
            }
        }
    };
    ratatui::restore();
    ended
}

async fn set_paused(backend: &dyn Backend, queue: &str, pause: bool) -> Result<(), Error> {
    let leasing = open_leasing(backend, queue).await?;
    match pause {
        true => leasing.pause().await,
        false => leasing.resume().await,
    }
}

/// The keys that are pressed. Reading them blocks a thread.
fn keys() -> mpsc::Receiver<char> {
    let (sender, receiver) = mpsc::channel(16);
    std::thread::spawn(move || {
        while let Ok(read) = event::read() {
            let Event::Key(key) = read else { continue };
            let Some(key) = as_char(key) else { continue };
            if sender.blocking_send(key).is_err() {
                return;
            }
        }
    });
    receiver
}

/// A key as the character that the view knows it by.
fn as_char(key: KeyEvent) -> Option<char> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return (key.code == KeyCode::Char('c')).then_some('q');
    }
    match key.code {
        KeyCode::Char(character) => Some(character),
        KeyCode::Up => Some('k'),
        KeyCode::Down => Some('j'),
        KeyCode::Enter => Some('\n'),
        KeyCode::Esc => Some('\u{1b}'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_and_letters_are_keys_and_a_release_is_none() {
        let plain = |code| KeyEvent::new(code, KeyModifiers::NONE);
        let control = |key| KeyEvent::new(KeyCode::Char(key), KeyModifiers::CONTROL);
        let released = KeyEvent {
            kind: KeyEventKind::Release,
            ..plain(KeyCode::Char('p'))
        };
        for (key, expected) in [
            (plain(KeyCode::Char('p')), Some('p')),
            (plain(KeyCode::Up), Some('k')),
            (plain(KeyCode::Down), Some('j')),
            (plain(KeyCode::Enter), Some('\n')),
            (plain(KeyCode::Esc), Some('\u{1b}')),
            (plain(KeyCode::F(1)), None),
            (control('c'), Some('q')),
            (control('p'), None),
            (released, None),
        ] {
            assert_eq!(as_char(key), expected, "{key:?}");
        }
    }
}
