//! Operators' calls to every queue that leases: about dead letters, the configuration, and pauses.

use queue_core::{Feature, Leasing, OnDeath, Page, QueueConfig, Revival};
use tokio::time;

use super::{Size, actor::Actor, bounded, goals};

/// The most pages that a process reads in a row.
pub(super) const PAGES_AT_ONCE: usize = 4;

/// Reads dead letters page by page, perhaps from the end of an earlier page. Meanwhile other processes
/// bury, revive and discard, as this process does.
pub(super) async fn dead_letters(actor: &mut Actor, queue: &dyn Leasing) {
    let limit = actor.page_limit();
    let mut page = actor.page(limit);
    for _ in 0..PAGES_AT_ONCE {
        let Ok(read) = queue.dead_letters(page).await else {
            return;
        };
        for letter in &read.entries {
            actor.pool.add_id(letter.id);
        }
        if page.after.is_some() {
            actor.reached(goals::SECOND_PAGE);
        }
        actor.page_end = read.next;
        let Some(cursor) = read.next else {
            return;
        };
        match actor.draw(4, 40) {
            1 => return,
            2 => revive(actor, queue).await,
            3 => discard(actor, queue).await,
            _ => {}
        }
        page = Page::after(cursor, limit);
    }
}

pub(super) async fn revive(actor: &Actor, queue: &dyn Leasing) {
    let mut ids = actor.ids();
    if actor.flip(60) {
        // An operator reads first.
        let most = actor.or_a_handful(10);
        let page = queue.dead_letters(Page::first(most)).await;
        let letters = page.map(|page| page.entries).unwrap_or_default();
        if !letters.is_empty() {
            let letter = actor.choose(letters.len() as u32) as usize;
            ids = vec![letters[letter].id];
            if actor.workload.size == Size::Crowd {
                ids = letters.iter().map(|letter| letter.id).collect();
            }
        }
    }
    // By the id, and not by another draw, which would change the history of each seed.
    let revival = match ids.first() {
        Some(id) if id.get().is_multiple_of(3) => Revival::Fresh,
        _ => Revival::WithState,
    };
    let _ = queue.revive(&ids, revival).await;
}

/// Changes the attempts of a message, the cap of the dead letters, the capacity, and the effect of a death on its group.
/// The attempts are no more than at first, so that the drain has the time that it needs.
pub(super) async fn reconfigure(actor: &Actor) {
    let guarantees = actor.backend.guarantees(actor.workload.kind);
    if !guarantees.has(Feature::Stored) {
        return;
    }
    let mut config = actor.workload.config.clone();
    if let Some(leasing) = config.leasing_mut() {
        leasing.max_attempts = 1 + actor.choose(leasing.max_attempts);
        leasing.dead_letter_cap = [0, 1, 3, 10_000][actor.choose(4) as usize];
        if actor.workload.is_limited() && actor.flip(50) {
            leasing.at_once = [None, Some(1), Some(2)][actor.choose(3) as usize];
            // No rate, or one of the three.
            let rates = &super::RATES[super::RATES.len() - 4..];
            leasing.rate = rates[actor.choose(rates.len() as u32) as usize];
        }
    }
    match &mut config {
        QueueConfig::Bounded(config) => config.capacity = bounded::capacity(actor).get(),
        QueueConfig::Grouped(config) => {
            config.on_death = [OnDeath::Continue, OnDeath::Park][actor.choose(2) as usize];
            if config.group_rate.is_some() && actor.flip(50) {
                // No rate, or one of the three.
                let rates = &super::GROUP_RATES[super::GROUP_RATES.len() - 4..];
                config.group_rate = rates[actor.choose(rates.len() as u32) as usize];
            }
        }
        _ => {}
    }
    let _ = actor.backend.reconfigure(&actor.name, &config).await;
}

pub(super) async fn discard(actor: &Actor, queue: &dyn Leasing) {
    let _ = queue.discard(&actor.ids()).await;
}

pub(super) async fn pause(actor: &Actor, queue: &dyn Leasing) {
    if queue.pause().await.is_err() {
        return;
    }
    time::sleep(actor.span()).await;
    // If the process dies before this, the queue stays paused; the drain resumes it.
    let _ = queue.resume().await;
}
