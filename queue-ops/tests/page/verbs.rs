//! Each verb in each place, by form and by API: its outcome, what it changes, what it leaves alone, what is written down.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use queue_core::{Leasing, LeasingExt, Overflow, Page, Place, ReliableQueue, Settlement, Standing};
use queue_ops::web::AuditEntry;

use crate::site::{Answer, Form, HOUR, Site, TOKEN, bury, push, rows};

/// Messages by place, and whether the queue is paused: ready, delayed, leased, dead.
type State = (bool, [u64; 4]);

const BEFORE: State = (false, [2, 1, 1, 3]);

/// Two letters of one cause (1 and 2) and one of another (3), a leased message (4), a delayed one (5), two ready ones.
async fn fill(site: &Site, name: &str) -> Arc<dyn ReliableQueue> {
    let queue = site.reliable(name).await;
    bury(&*queue, "one", "order 1: no article \"rose\"").await;
    bury(&*queue, "two", "order 22: no article \"kite\"").await;
    bury(&*queue, "three", "402: card declined").await;
    push(&*queue, "four").await;
    queue
        .receive_one(HOUR, Duration::ZERO)
        .await
        .unwrap()
        .unwrap();
    push(&*queue, "five").await;
    let five = queue
        .receive_one(HOUR, Duration::ZERO)
        .await
        .unwrap()
        .unwrap();
    let _ = queue
        .settle_one(Settlement::retry(five.receipt, HOUR))
        .await
        .unwrap();
    push(&*queue, "six").await;
    push(&*queue, "seven").await;
    queue
}

async fn state(queue: &dyn ReliableQueue) -> State {
    let counters = queue.counters().await.unwrap();
    let depth = counters.depth;
    (
        counters.paused,
        [depth.ready, depth.delayed, depth.leased, depth.dead],
    )
}

/// The token of the lease of message 4.
async fn token(queue: &dyn ReliableQueue) -> String {
    let leased = queue
        .peek(Place::Leased, Page::first(10))
        .await
        .unwrap()
        .entries;
    let Standing::Leased { receipt, .. } = &leased[0].standing else {
        panic!("{leased:?}")
    };
    receipt.token.to_string()
}

const ARTICLE: &str = "buried: order #: no article '…'";

type Fields = &'static [(&'static str, &'static str)];

/// A verb, the message, its fields, the outcome (an error begins with `!`), and what there is afterwards.
type Verb = (&'static str, Option<u64>, Fields, &'static str, State);

#[rustfmt::skip]
const VERBS: &[Verb] = &[
    ("pause", None, &[], "paused", (true, BEFORE.1)),
    ("resume", None, &[], "resumed", BEFORE),
    ("cancel", Some(6), &[], "Cancelled", (false, [1, 1, 1, 3])),
    ("cancel", Some(5), &[], "Cancelled", (false, [2, 0, 1, 3])),
    ("cancel", Some(4), &[], "TooLate", BEFORE),
    ("cancel", Some(1), &[], "TooLate", BEFORE),
    ("cancel", Some(99), &[], "NeverWas", BEFORE),
    ("run", Some(5), &[], "Moved", (false, [3, 0, 1, 3])),
    ("run", Some(6), &[], "TooLate", BEFORE),
    ("run", Some(4), &[], "TooLate", BEFORE),
    ("revive", Some(2), &[], "[Revived]", (false, [3, 1, 1, 2])),
    ("revive", Some(6), &[], "[NotFound]", BEFORE),
    ("revive", Some(99), &[], "[NotFound]", BEFORE),
    ("discard", Some(3), &[], "1 discarded", (false, [2, 1, 1, 2])),
    ("discard", Some(6), &[], "0 discarded", BEFORE),
    ("release", Some(4), &[("token", "TOKEN")], "Done", (false, [3, 1, 0, 3])),
    ("release", Some(4), &[("token", "1")], "!is not held with token", BEFORE),
    ("release", Some(6), &[("token", "TOKEN")], "!is not held with token", BEFORE),
    ("revive", None, &[("fingerprint", ARTICLE)], "2 of 2 done", (false, [4, 1, 1, 1])),
    ("revive", None, &[("fingerprint", "buried: #: card declined")], "1 of 1 done", (false, [3, 1, 1, 2])),
    ("revive", None, &[("fingerprint", "no article")], "0 of 0 done", BEFORE),
    ("revive", None, &[("fingerprint", "")], "0 of 0 done", BEFORE),
    ("discard", None, &[("fingerprint", ARTICLE)], "2 of 2 done", (false, [2, 1, 1, 1])),
    ("discard", None, &[("fingerprint_hex", "6275726965643a20233a2063617264206465636c696e6564")], "1 of 1 done", (false, [2, 1, 1, 2])),
    ("discard", None, &[("fingerprint", "another")], "0 of 0 done", BEFORE),
    // A message is named, so the cause does not count.
    ("discard", Some(3), &[("fingerprint", ARTICLE)], "1 discarded", (false, [2, 1, 1, 2])),
    ("revive", None, &[], "!revive which dead letters", BEFORE),
    ("discard", None, &[], "!discard which dead letters", BEFORE),
    ("release", Some(4), &[], "!there is no action `release`", BEFORE),
    ("release", None, &[("token", "TOKEN")], "!there is no action `release`", BEFORE),
    ("cancel", None, &[], "!there is no action `cancel`", BEFORE),
    ("pause", Some(6), &[], "!there is no action `pause`", BEFORE),
    ("resume", Some(6), &[], "!there is no action `resume`", BEFORE),
    ("purge", None, &[], "!there is no action `purge`", BEFORE),
    ("", None, &[], "!there is no action ``", BEFORE),
    ("PAUSE", None, &[], "!there is no action `PAUSE`", BEFORE),
    ("pause", None, &[("group", "a")], "!", BEFORE),
];

/// The status of an error.
fn status(error: &str) -> u16 {
    if error.contains("not held") { 409 } else { 400 }
}

fn json(verb: &str, id: Option<u64>, fields: &[(&str, String)]) -> String {
    let mut body = serde_json::Map::new();
    body.insert("action".into(), verb.into());
    body.extend(id.map(|id| ("id".into(), id.into())));
    for (name, value) in fields {
        let number = value.parse::<u64>().ok().filter(|_| *name == "token");
        let value = number.map_or_else(|| value.as_str().into(), serde_json::Value::from);
        body.insert((*name).into(), value);
    }
    serde_json::Value::from(body).to_string()
}

/// One verb as it is played: with the token of this lease, to this page, or by the API.
struct Case<'a> {
    verb: &'a str,
    id: Option<u64>,
    fields: Vec<(&'a str, String)>,
    outcome: &'a str,
    name: String,
}

impl Case<'_> {
    /// The text of the error that the verb ends with, if it does.
    fn error(&self) -> Option<&str> {
        self.outcome.strip_prefix('!')
    }

    async fn by_api(&self, site: &Site) {
        let case = &self.name;
        let body = json(self.verb, self.id, &self.fields);
        let answer = site.api("jobs:mail", &body).await;
        let said: serde_json::Value = serde_json::from_str(&answer.text).expect("JSON");
        let expected = self.error().map_or(200, status);
        assert_eq!(answer.status, expected, "{case}: {answer:?}");
        match self.error() {
            Some(error) => assert!(
                said["error"].as_str().unwrap().contains(error),
                "{case}: {said}"
            ),
            None => assert_eq!(
                said,
                serde_json::json!({ "outcome": self.outcome }),
                "{case}"
            ),
        }
    }

    async fn by_form(&self, site: &Site, place: &str) {
        let case = &self.name;
        let own = match self.id {
            Some(id) => format!("/queues/jobs%3Amail/messages/{id}"),
            None => format!("/queues/jobs%3Amail{place}"),
        };
        let fields = self.fields.iter();
        let fields = fields.map(|(name, value)| (*name, value.as_str()));
        let sent: Vec<_> = [("action", self.verb)].into_iter().chain(fields).collect();
        let answer = site.post(&own, &sent).await;
        match self.error() {
            Some(error) => {
                assert_eq!(answer.status, status(error), "{case}: {answer:?}");
                assert!(answer.words().contains(error), "{case}: {answer:?}");
            }
            None => {
                assert_eq!(
                    (answer.status.as_u16(), answer.header("location")),
                    (303, &*own),
                    "{case}: {answer:?}"
                );
            }
        }
    }

    /// Failed actions are written down, too.
    async fn is_written_down(&self, site: &Site, told: &[AuditEntry]) {
        let case = &self.name;
        let [entry] = told else {
            panic!("{case}: {told:?}")
        };
        let message = self.id.map(|id| format!(" #{id}")).unwrap_or_default();
        let start = format!("{} jobs:mail{message}", self.verb);
        assert!(entry.action.starts_with(&start), "{case}: {entry:?}");
        match self.error() {
            Some(error) => assert!(entry.outcome.contains(error), "{case}: {entry:?}"),
            None => assert_eq!(entry.outcome, self.outcome, "{case}"),
        }
        for (name, value) in &self.fields {
            let is_named = entry.action.ends_with(&format!(" '{value}'"));
            assert!(
                is_named || name.ends_with("_hex") || *name == "token",
                "{case}: {entry:?}"
            );
        }
        let now = site.queues.backend().now().await.unwrap();
        assert_eq!(entry.at, now);
        let shown = rows(&site.page("/audit").await);
        let collapsed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let expected = [
            entry.at.as_millis().to_string(),
            collapsed(&entry.action),
            collapsed(&entry.outcome),
        ];
        assert_eq!(shown, [expected.to_vec()], "{case}");
    }
}

/// Plays a verb to this page, or by the API if there is none.
async fn play((verb, id, fields, outcome, after): &Verb, page: Option<&str>) {
    let told: Arc<Mutex<Vec<AuditEntry>>> = Arc::default();
    let hear = Arc::clone(&told);
    let mut site = Site::with(|web| {
        let web = web.writes(TOKEN).unwrap();
        web.on_action(move |entry| hear.lock().unwrap().push(entry.clone()))
    });
    site.sign_in("").await;
    let (queue, other) = (fill(&site, "jobs:mail").await, fill(&site, "other").await);
    let token = token(&*queue).await;
    let fields = fields.iter();
    let fields = fields.map(|(name, value)| (*name, value.replace("TOKEN", &token)));
    let case = Case {
        verb,
        id: *id,
        fields: fields.collect(),
        outcome,
        name: format!("{verb} {id:?} to {page:?} ({outcome})"),
    };
    match page {
        Some(place) => case.by_form(&site, place).await,
        None => case.by_api(&site).await,
    }
    assert_eq!(state(&*queue).await, *after, "{}", case.name);
    assert_eq!(
        state(&*other).await,
        BEFORE,
        "{}: the other queue",
        case.name
    );
    let told = told.lock().unwrap().clone();
    case.is_written_down(&site, &told).await;
}

#[tokio::test(start_paused = true)]
async fn each_verb_changes_what_it_names_and_nothing_else() {
    for verb in VERBS {
        let pages: &[_] = match verb.1 {
            Some(_) => &[None, Some("")],
            None => &[None, Some(""), Some("/dead"), Some("/groups")],
        };
        for page in pages {
            play(verb, *page).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn malformed_actions_are_refused() {
    let site = Site::signed_in().await;
    let queue = fill(&site, "orders").await;
    for (path, fields) in [
        ("/queues/orders", &[][..]),
        ("/queues/orders", &[("verb", "pause")]),
        (
            "/queues/orders/dead",
            &[("action", "discard"), ("fingerprint_hex", "2")],
        ),
        (
            "/queues/orders/dead",
            &[("action", "discard"), ("fingerprint_hex", "zz")],
        ),
        ("/queues/orders/messages/x", &[("action", "cancel")]),
        (
            "/queues/orders/messages/6",
            &[("action", "release"), ("token", "x")],
        ),
        ("/queues/%7B%7D", &[("action", "pause")]),
        ("/queues/none", &[("action", "pause")]),
    ] {
        let answer = site.post(path, fields).await;
        assert!(
            answer.status.is_client_error(),
            "{path} {fields:?}: {answer:?}"
        );
    }
    for body in [
        "",
        "{}",
        "[]",
        "{\"action\":7}",
        "{\"action\":\"cancel\",\"id\":\"six\"}",
    ] {
        let answer = site.api("orders", body).await;
        assert!(answer.status.is_client_error(), "{body}: {answer:?}");
    }
    assert_eq!(state(&*queue).await, BEFORE);
    // Nothing is made by a name that is none.
    assert!(
        site.queues
            .backend()
            .open_stored(&"none".parse().unwrap())
            .await
            .unwrap()
            .is_none()
    );
}

const KEYS: [&[u8]; 5] = [b"a", b"b", b"line\nbreak", b"line\r\nbreak", b"\xff\0"];

/// Whether each group of `KEYS` is paused.
async fn paused(queue: &dyn queue_core::GroupedQueue) -> [bool; KEYS.len()] {
    let groups = queue.groups(Page::first(10)).await.unwrap().entries;
    let of = |key: &[u8]| groups.iter().find(|group| group.key == key).unwrap().paused;
    KEYS.map(|key| of(key).is_some())
}

/// Presses a button of this group on this page.
async fn press(site: &Site, path: &str, key: &[u8], button: &str) -> Answer {
    let forms = Form::all(&site.page(path).await);
    let hex: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    let own =
        |form: &&Form| form.button == button && form.fields.iter().any(|(_, value)| *value == hex);
    let form = forms.iter().find(own);
    let form = form.unwrap_or_else(|| panic!("{button}: {forms:?}"));
    assert_eq!(form.to, path);
    form.press(site).await
}

#[tokio::test(start_paused = true)]
async fn a_verb_for_a_group_changes_that_group_alone() {
    for (at, key) in KEYS.iter().enumerate() {
        for place in ["", "/groups"] {
            let site = Site::signed_in().await;
            let steps = site.grouped("steps", &KEYS).await;
            let others = site.grouped("others", &KEYS).await;
            let path = format!("/queues/steps{place}");
            let answer = press(&site, &path, key, "Pause for an hour").await;
            assert_eq!(
                (answer.status.as_u16(), answer.header("location")),
                (303, &*path)
            );
            let mut expected = [false; KEYS.len()];
            expected[at] = true;
            assert_eq!(paused(&*steps).await, expected);
            assert_eq!(paused(&*others).await, [false; KEYS.len()]);
            let groups = steps.groups(Page::first(10)).await.unwrap().entries;
            let left = groups.iter().find(|group| group.key == *key);
            assert_eq!(left.unwrap().paused, Some(HOUR));
            assert_eq!(press(&site, &path, key, "Resume").await.status, 303);
            assert_eq!(paused(&*steps).await, [false; KEYS.len()]);
            let audit = rows(&site.page("/audit").await);
            assert_eq!(audit.len(), 2);
            assert_eq!(
                (&*audit[1][2], &*audit[0][2]),
                ("paused for 60 min", "resumed")
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_group_is_paused_or_resumed_and_its_queue_goes_on() {
    let site = Site::signed_in().await;
    let steps = site.grouped("steps", &KEYS).await;
    for verb in ["park", "revive", "discard", "cancel", "", "Pause"] {
        let answer = site
            .post("/queues/steps/groups", &[("action", verb), ("group", "a")])
            .await;
        assert!(
            answer.status == 400 && answer.words().contains("pause or resume"),
            "{verb}: {answer:?}"
        );
    }
    let pause = [("action", "pause"), ("group", "b")];
    assert_eq!(site.post("/queues/steps", &pause).await.status, 303);
    assert_eq!(paused(&*steps).await, KEYS.map(|key| key == b"b"));
    // A queue of its own name is paused as a whole only without a group.
    assert!(!steps.counters().await.unwrap().paused);
}

/// Causes that a form would change, or that are markup.
#[tokio::test(start_paused = true)]
async fn a_button_acts_on_its_cause_whatever_the_text_is() {
    let causes = [
        "plain",
        "line\nbreak",
        "line\r\nbreak",
        "\"><script>alert(1)</script>",
        "a&b=c+d%20e",
        " blank ",
        "ü – 日本",
        "<input name=action value=revive>",
        "\u{202e}back",
        "tab\there",
    ];
    for button in ["Revive these", "Discard these"] {
        for path in ["/dead", "/queues/orders/dead"] {
            let site = Site::signed_in().await;
            let orders = site.reliable("orders").await;
            for cause in causes {
                bury(&*orders, "body", cause).await;
                bury(&*orders, "body", cause).await;
            }
            // Reasons are stored in one line, so some causes are one.
            let mut left = 2 * causes.len();
            while left > 0 {
                let page = site.page(path).await;
                let forms: Vec<_> = Form::all(&page);
                let form = forms
                    .iter()
                    .find(|form| form.button == button)
                    .expect(button);
                let audit = rows(&site.page("/audit").await).len();
                assert_eq!(form.press(&site).await.status, 303);
                let now = crate::site::dead(&*orders).await.len();
                assert!(
                    now < left && (left - now).is_multiple_of(2),
                    "{form:?}: {left}, then {now}"
                );
                assert_eq!(rows(&site.page("/audit").await).len(), audit + 1);
                left = now;
            }
            let ready = orders.depth().await.unwrap().ready;
            assert_eq!(
                ready,
                if button == "Revive these" {
                    2 * causes.len() as u64
                } else {
                    0
                }
            );
        }
    }
}

/// Not all that is found can be done: a full queue takes no more.
#[tokio::test(start_paused = true)]
async fn an_outcome_counts_what_was_done_of_what_was_found() {
    let site = Site::new();
    let full = site.queues.bounded("full", 2).open::<u64>().await.unwrap();
    for order in 0..3 {
        full.push(&order, Overflow::Reject)
            .await
            .unwrap()
            .id()
            .unwrap();
        let one = full
            .queue()
            .receive_one(HOUR, Duration::ZERO)
            .await
            .unwrap()
            .unwrap();
        let _ = full
            .queue()
            .settle_one(Settlement::bury(one.receipt, "no article"))
            .await
            .unwrap();
    }
    let revive = r#"{"action":"revive","fingerprint":"buried: no article"}"#;
    for (done, dead) in [("2 of 3 done", 1), ("0 of 1 done", 1)] {
        let answer = site.api("full", revive).await;
        assert_eq!(answer.text, format!(r#"{{"outcome":"{done}"}}"#));
        assert_eq!(full.queue().depth().await.unwrap().dead, dead);
    }
}

/// The last hundred actions, the latest first.
#[tokio::test(start_paused = true)]
async fn the_audit_keeps_the_last_hundred() {
    let site = Site::signed_in().await;
    site.reliable("orders").await;
    for number in 0..103 {
        site.post(
            &format!("/queues/orders/messages/{number}"),
            &[("action", "cancel")],
        )
        .await;
    }
    let shown: Vec<_> = rows(&site.page("/audit").await)
        .into_iter()
        .map(|row| row[1].clone())
        .collect();
    let expected: Vec<_> = (3..103)
        .rev()
        .map(|number| format!("cancel orders #{number}"))
        .collect();
    assert_eq!(shown, expected);
}
