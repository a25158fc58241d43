//! Hiding what users wrote from who operates their queues.

use std::{
    fmt,
    hash::{BuildHasher, RandomState},
    sync::{Arc, LazyLock},
};

use async_trait::async_trait;
use queue_core::{
    Backend, Bytes, DeathReason, Found, Headers, Json, Layered, Page, Peeked, QueueName, Result,
    Standing, StepRecord, Steps,
    call::{Answer, Call, Layer, Service},
    is_operators_list, limits,
};

use crate::fingerprint;

type Redact = dyn Fn(&QueueName, &Bytes) -> Option<Bytes> + Send + Sync;

/// The backend as operators may see it, who must not see what is in the messages.
///
/// Of bodies, states and results it shows what `redact` returns, and nothing if that is `None`. Reasons, progress and keys of
/// groups are texts of users, too. In their place are letters, the same for each text of one cause, so that failures can be
/// counted and groups be paused. Other processes have other letters. Of the headers it shows the job's name, and the queue
/// and id of its parent. Of the steps of a durable job (L21) it shows all but their results, which are shown as bodies are.
/// Names of queues, jobs, steps, holders and schedules are shown: put no personal data there.
pub fn redacted(
    backend: Arc<dyn Backend>,
    redact: impl Fn(&QueueName, &Bytes) -> Option<Bytes> + Send + Sync + 'static,
) -> Arc<dyn Backend> {
    let redact: Arc<Redact> = Arc::new(redact);
    Arc::new(Layered::new(Redaction(redact), backend))
}

/// The layer in front of each queue: no page, finding or form is made of anything else.
struct Redaction(Arc<Redact>);

impl fmt::Debug for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redaction")
    }
}

/// The beginning of the text that replaces a hidden one.
const HIDDEN: &str = "(not shown";

/// Letters in the place of a text. They tell nothing of it: the number is secret, and lasts as long as the process.
fn letters(text: &[u8]) -> String {
    static SECRET: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    let number = SECRET.hash_one(text);
    // Without digits, which a fingerprint leaves out.
    let letter = |nth: u32| char::from(b'a' + (number >> (4 * nth) & 15) as u8);
    let letters: String = (0..12).map(letter).collect();
    format!("{HIDDEN}: {letters})")
}

/// Whether a text is hidden.
pub(crate) fn is_hidden(text: &str) -> bool {
    text.starts_with(HIDDEN)
}

fn hide_reason(reason: &mut String) {
    *reason = letters(fingerprint(reason).as_bytes());
}

fn hide_death(reason: &mut DeathReason) {
    if let DeathReason::Buried(reason) = reason {
        hide_reason(reason);
    }
}

fn hide_progress(standing: &mut Standing) {
    if let Standing::Leased {
        progress: Some(progress),
        ..
    } = standing
    {
        *progress = letters(progress).into();
    }
}

fn hide_headers(headers: &mut Headers) {
    let mut shown = match headers.job() {
        Some(job) => Headers::new().with_job(job),
        None => Headers::new(),
    };
    if let Some((queue, id)) = headers.parent() {
        shown = shown.with(Headers::PARENT, format!("{queue}/{id}"));
    }
    *headers = shown;
}

fn hide_group(group: &mut Bytes) {
    *group = letters(group).into();
}

impl Redaction {
    fn hide_body(&self, queue: &QueueName, body: &mut Bytes) {
        // Workers wrote it, and no user: it has names and numbers.
        if is_operators_list(queue) {
            return;
        }
        *body = self.0(queue, body).unwrap_or_else(|| format!("{HIDDEN})").into());
    }

    fn hide_state(&self, queue: &QueueName, state: &mut Option<Bytes>) {
        let Some(state) = state else { return };
        match Steps::of(state) {
            Ok(Some(steps)) => match self.hide_results(queue, steps) {
                Ok(shown) => *state = shown,
                Err(_) => self.hide_body(queue, state),
            },
            Ok(None) | Err(_) => self.hide_body(queue, state),
        }
    }

    /// The steps, with what is shown of their results.
    fn hide_results(&self, queue: &QueueName, mut steps: Steps) -> Result<Bytes> {
        let hide = |text: &mut String| {
            let mut shown = Bytes::from(std::mem::take(text));
            self.hide_body(queue, &mut shown);
            *text = String::from_utf8_lossy(&shown).into_owned();
        };
        for step in &mut steps.steps {
            if let StepRecord::Done(result) = &mut step.record {
                hide(result);
            }
        }
        steps.own.iter_mut().for_each(hide);
        Json::write(&steps)
    }

    fn hide_peeked(&self, queue: &QueueName, peeked: &mut Peeked) {
        self.hide_body(queue, &mut peeked.message.body);
        hide_headers(&mut peeked.message.headers);
        self.hide_state(queue, &mut peeked.state);
        peeked.failure.iter_mut().for_each(hide_reason);
        peeked.group.iter_mut().for_each(hide_group);
        hide_progress(&mut peeked.standing);
    }

    fn hide_found(&self, queue: &QueueName, found: &mut Found) {
        match found {
            Found::Present {
                failure, standing, ..
            } => {
                failure.iter_mut().for_each(hide_reason);
                hide_progress(standing);
            }
            Found::Dead {
                reason, failure, ..
            } => {
                hide_death(reason);
                failure.iter_mut().for_each(hide_reason);
            }
            Found::Done(result) => self.hide_body(queue, result),
            Found::Gone | Found::NeverWas => {}
        }
    }
}

#[async_trait]
impl Layer for Redaction {
    async fn call(
        &self,
        name: &QueueName,
        queue: &Arc<dyn Service>,
        mut call: Call,
    ) -> Result<Answer> {
        if let Call::ChangeGroup(key, _) = &mut call
            && key.starts_with(HIDDEN.as_bytes())
            && let Some(own) = shown_as(&**queue, key).await?
        {
            *key = own;
        }
        let mut answer = queue.call(call).await?;
        match &mut answer {
            Answer::Peeked(page) => {
                page.entries
                    .iter_mut()
                    .for_each(|one| self.hide_peeked(name, one));
            }
            Answer::DeadLetters(page) => {
                for letter in &mut page.entries {
                    self.hide_body(name, &mut letter.body);
                    hide_headers(&mut letter.headers);
                    self.hide_state(name, &mut letter.state);
                    hide_death(&mut letter.reason);
                    letter.failure.iter_mut().for_each(hide_reason);
                    letter.group.iter_mut().for_each(hide_group);
                }
            }
            Answer::Found(found) => {
                found.iter_mut().for_each(|one| self.hide_found(name, one));
            }
            Answer::Groups(page) => {
                page.entries
                    .iter_mut()
                    .for_each(|group| hide_group(&mut group.key));
            }
            _ => {}
        }
        Ok(answer)
    }
}

/// The key of the group that is shown by these letters, if it is there.
async fn shown_as(queue: &dyn Service, shown: &Bytes) -> Result<Option<Bytes>> {
    let mut page = Page::first(limits::MAX_PAGE);
    loop {
        let Answer::Groups(groups) = queue.call(Call::Groups(page)).await? else {
            return Ok(None);
        };
        let mut keys = groups.entries.into_iter().map(|group| group.key);
        if let Some(key) = keys.find(|key| letters(key).as_bytes() == &shown[..]) {
            return Ok(Some(key));
        }
        match groups.next {
            Some(next) => page = Page::after(next, limits::MAX_PAGE),
            None => return Ok(None),
        }
    }
}
