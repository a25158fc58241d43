//! The actions of operators. Each is written down, also if it fails.

use std::{borrow::Cow, time::Duration};

use axum::{
    Form, Json,
    extract::{Path, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use queue_core::{
    Bytes, DeadLetter, Error, Leasing, LeasingExt, MessageId, Page, QueueName, Receipt, Revival,
    Revived, Settlement, Token, limits, with_sources,
};
use serde::Deserialize;
use serde_json::json;

use super::{
    Web,
    access::Operator,
    api::{Answer, answer},
    asked::{InQueue, OfMessage, name},
    audit::AuditEntry,
    filter::Filter,
    frame::Frame,
    groups,
    hex::Hex,
    show::Failed,
};
use crate::{cancel_family, groups::key_in_words, ids_of_failure, open::open_leasing};

/// An action, as a form or as JSON.
#[derive(Debug, Deserialize)]
pub(super) struct Action {
    action: String,
    /// Of an action on a leased message: the token of its lease.
    token: Option<u64>,
    /// Of an action on a group: its key.
    group: Option<String>,
    /// The same in hexadecimal digits: a form would change line breaks, and carries no bytes that are no text.
    group_hex: Option<Hex>,
    /// Of an action on dead letters: the failure that they have in common.
    fingerprint: Option<String>,
    /// The same in hexadecimal digits.
    fingerprint_hex: Option<Hex>,
    /// Of an action on dead letters: a part of their reasons.
    reason: Option<String>,
    /// Of an action on a message, by the API.
    id: Option<MessageId>,
}

impl Action {
    fn group(&self) -> Option<Bytes> {
        let text = || {
            self.group
                .as_ref()
                .map(|key| Bytes::copy_from_slice(key.as_bytes()))
        };
        self.group_hex
            .as_ref()
            .map(|hex| Bytes::copy_from_slice(&hex.0))
            .or_else(text)
    }

    fn fingerprint(&self) -> Option<Cow<'_, str>> {
        let text = || self.fingerprint.as_deref().map(Cow::Borrowed);
        self.fingerprint_hex
            .as_ref()
            .map(|hex| String::from_utf8_lossy(&hex.0))
            .or_else(text)
    }
}

type Done = Result<Response, Failed>;

/// Back to the page that the form was on.
pub(super) fn back(to: String) -> Response {
    (StatusCode::SEE_OTHER, [(header::LOCATION, to)]).into_response()
}

pub(super) async fn on_queue(
    operator: Operator,
    frame: Frame,
    State(web): State<Web>,
    Path(InQueue { queue }): Path<InQueue>,
    Form(action): Form<Action>,
) -> Done {
    let queue = name(&queue)?;
    web.act(&operator, &queue, None, &action).await?;
    Ok(back(frame.to(&["queues", queue.as_str()])))
}

pub(super) async fn on_dead(
    operator: Operator,
    frame: Frame,
    State(web): State<Web>,
    Path(InQueue { queue }): Path<InQueue>,
    Form(action): Form<Action>,
) -> Done {
    let queue = name(&queue)?;
    web.act(&operator, &queue, None, &action).await?;
    Ok(back(frame.to(&["queues", queue.as_str(), "dead"])))
}

pub(super) async fn on_groups(
    operator: Operator,
    frame: Frame,
    State(web): State<Web>,
    Path(InQueue { queue }): Path<InQueue>,
    Form(action): Form<Action>,
) -> Done {
    let queue = name(&queue)?;
    web.act(&operator, &queue, None, &action).await?;
    Ok(back(frame.to(&["queues", queue.as_str(), "groups"])))
}

pub(super) async fn on_message(
    operator: Operator,
    frame: Frame,
    State(web): State<Web>,
    Path(OfMessage { queue, id }): Path<OfMessage>,
    Form(action): Form<Action>,
) -> Done {
    let queue = name(&queue)?;
    web.act(&operator, &queue, Some(id), &action).await?;
    Ok(back(frame.to(&[
        "queues",
        queue.as_str(),
        "messages",
        &id.to_string(),
    ])))
}

pub(super) async fn by_api(
    operator: Operator,
    State(web): State<Web>,
    Path(InQueue { queue }): Path<InQueue>,
    Json(action): Json<Action>,
) -> Answer {
    let done = async { web.act(&operator, &name(&queue)?, action.id, &action).await };
    answer(done.await.map(|outcome| json!({ "outcome": outcome })))
}

impl Web {
    /// Does an action, and writes it down. Returns its outcome.
    async fn act(
        &self,
        operator: &Operator,
        queue: &QueueName,
        id: Option<MessageId>,
        action: &Action,
    ) -> Result<String, Error> {
        let done = self.try_to_act(queue, id, action).await;
        let message = id.map(|id| format!(" #{id}")).unwrap_or_default();
        let group = action.group().map(|key| key_in_words(&key));
        let group = group.or_else(|| action.fingerprint().map(Cow::into_owned));
        let group = group.or_else(|| action.reason.clone());
        let group = group.map(|group| format!(" '{group}'")).unwrap_or_default();
        let what = format!("{} {queue}{message}{group}", action.action);
        self.note(operator, what, done.as_deref()).await;
        done
    }

    /// Writes an action down.
    pub(super) async fn note(&self, _: &Operator, action: String, done: Result<&str, &Error>) {
        let outcome = match done {
            Ok(outcome) => outcome.to_owned(),
            Err(error) => with_sources(error),
        };
        let at = self.backend.now().await.unwrap_or_default();
        let entry = AuditEntry::new(at, action, outcome);
        if let Some(on_action) = &self.on_action {
            on_action(&entry);
        }
        self.audit.note(entry);
    }

    async fn try_to_act(
        &self,
        queue: &QueueName,
        id: Option<MessageId>,
        action: &Action,
    ) -> Result<String, Error> {
        if let Some(group) = action.group() {
            return groups::change(self, queue, &action.action, group).await;
        }
        let leasing = open_leasing(&*self.backend, queue).await?;
        match (&*action.action, id, action.token) {
            ("pause", None, _) => leasing.pause().await.map(|()| "paused".to_owned()),
            ("resume", None, _) => leasing.resume().await.map(|()| "resumed".to_owned()),
            ("cancel", Some(id), _) => Ok(format!("{:?}", leasing.cancel_one(id).await?)),
            ("cancel_family", Some(id), _) => {
                let cancelled = cancel_family(&*self.backend, queue.as_str(), id).await?;
                Ok(cancelled.to_string().replace('\n', "; "))
            }
            ("run", Some(id), _) => {
                let moved = leasing.reschedule_one(id, Duration::ZERO).await?;
                Ok(format!("{moved:?}"))
            }
            (verb @ ("revive" | "restart"), Some(id), _) => {
                let revival = match verb {
                    "revive" => Revival::WithState,
                    _ => Revival::Fresh,
                };
                Ok(format!("{:?}", leasing.revive(&[id], revival).await?))
            }
            ("discard", Some(id), _) => Ok(format!("{} discarded", leasing.discard(&[id]).await?)),
            ("release", Some(id), Some(token)) => {
                let receipt = Receipt {
                    id,
                    token: Token::new(token),
                };
                let settled = leasing.settle_one(Settlement::release(receipt)).await?;
                Ok(format!("{settled:?}"))
            }
            (verb @ ("revive" | "discard"), None, _) => {
                let filter = Filter::new(action.reason.as_deref().unwrap_or_default());
                match action.fingerprint() {
                    Some(failure) => {
                        let died_of_it = |letters: &[DeadLetter]| ids_of_failure(letters, &failure);
                        on_letters(&*leasing, verb, died_of_it).await
                    }
                    None if !filter.is_empty() => {
                        let meant = |letters: &[DeadLetter]| filter.ids(letters);
                        on_letters(&*leasing, verb, meant).await
                    }
                    None => Err(Error::invalid(format!(
                        "{verb} which dead letters? Name an id, a fingerprint, or a part of their reasons"
                    ))),
                }
            }
            (other, ..) => Err(Error::invalid(format!("there is no action `{other}` here"))),
        }
    }
}

/// Revives or discards all dead letters that are there now and that `chosen` returns of a page of them.
async fn on_letters(
    leasing: &dyn Leasing,
    verb: &str,
    chosen: impl Fn(&[DeadLetter]) -> Vec<MessageId>,
) -> Result<String, Error> {
    // Letters that die again meanwhile come last, and are left alone: an action ends.
    let mut left = leasing.depth().await?.dead;
    let (mut page, mut done, mut found) = (Page::first(limits::MAX_PAGE), 0, 0);
    loop {
        let mut letters = leasing.dead_letters(page).await?;
        letters
            .entries
            .truncate(usize::try_from(left).unwrap_or(usize::MAX));
        left -= letters.entries.len() as u64;
        let ids = chosen(&letters.entries);
        found += ids.len();
        for ids in ids.chunks(limits::MAX_BATCH) {
            done += match verb {
                "revive" => {
                    let revived = leasing.revive(ids, Revival::WithState).await?.into_iter();
                    revived.filter(|one| *one == Revived::Revived).count() as u64
                }
                _ => leasing.discard(ids).await?,
            };
        }
        match letters.next {
            Some(next) if left > 0 => page = Page::after(next, limits::MAX_PAGE),
            _ => return Ok(format!("{done} of {found} done")),
        }
    }
}
