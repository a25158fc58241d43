//! The live view: the queues with their rates, the worst first.

mod screen;
mod view;

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use queue_core::{Backend, Error, ErrorKind};
use queue_ops::{Sampler, diagnose};

use tokio::{
    sync::mpsc,
    time::{MissedTickBehavior, interval},
};

use self::view::{Asked, Key, View};
use crate::{End, Outcome, open_leasing, output::Output};

/// Queues that are sampled.
const MOST: usize = 10_000;

pub(crate) async fn run(backend: Arc<dyn Backend>, every: Duration, output: &Output) -> Outcome {
    let most = NonZeroUsize::new(MOST).expect("more than 0");
    let mut sampler = Sampler::new(Arc::clone(&backend), most).with_kept(screen::BAR_COUNT);
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
    // Samples of many queues may take longer.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let ended = loop {
        if let Err(error) = terminal.draw(|frame| screen::draw(frame, &mut view)) {
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
fn keys() -> mpsc::Receiver<Key> {
    let (sender, receiver) = mpsc::channel(16);
    std::thread::spawn(move || {
        while let Ok(read) = event::read() {
            let Event::Key(key) = read else { continue };
            let Some(key) = known(key) else { continue };
            if sender.blocking_send(key).is_err() {
                return;
            }
        }
    });
    receiver
}

/// A key as the view knows it.
fn known(key: KeyEvent) -> Option<Key> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return (key.code == KeyCode::Char('c')).then_some(Key::Quit);
    }
    Some(match key.code {
        KeyCode::Char(character) => Key::Char(character),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::First,
        KeyCode::End => Key::Last,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        _ => return None,
    })
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
            (plain(KeyCode::Char('p')), Some(Key::Char('p'))),
            (plain(KeyCode::Up), Some(Key::Up)),
            (plain(KeyCode::Down), Some(Key::Down)),
            (plain(KeyCode::Enter), Some(Key::Enter)),
            (plain(KeyCode::Esc), Some(Key::Escape)),
            (plain(KeyCode::F(1)), None),
            (control('c'), Some(Key::Quit)),
            (control('p'), None),
            (released, None),
        ] {
            assert_eq!(known(key), expected, "{key:?}");
        }
    }
}
