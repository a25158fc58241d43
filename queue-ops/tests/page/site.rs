//! The page in this process, on a backend in memory: requests, and what the responses have.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Extension, Router,
    body::{Body, to_bytes},
    extract::ConnectInfo,
    http::{HeaderMap, Request, StatusCode},
};
use queue_core::{
    Backend, Bytes, DeadLetter, GroupedQueue, Headers, LeasingExt, MessageId, Page, Push, Queues,
    ReliableConfig, ReliableQueue, Settlement,
};
use queue_memory::MemoryBackend;
use queue_ops::web::Web;
use tower_service::Service;

pub(crate) const TOKEN: &str = "0123456789abcdef0123";
pub(crate) const HOUR: Duration = Duration::from_secs(3_600);

pub(crate) struct Site {
    pub(crate) queues: Queues,
    router: Router,
    cookie: Option<String>,
}

/// A response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Site {
    /// A page that nobody has signed in to.
    pub(crate) fn new() -> Self {
        Self::with(|web| web.writes(TOKEN).expect("a good token"))
    }

    pub(crate) fn with(change: impl FnOnce(Web) -> Web) -> Self {
        let queues = Queues::new(MemoryBackend::new());
        let backend: Arc<dyn Backend> = Arc::clone(queues.backend());
        Self::of(queues, change(Web::new(backend)).router())
    }

    pub(crate) fn of(queues: Queues, router: Router) -> Self {
        Self {
            queues,
            router,
            cookie: None,
        }
    }

    /// The same page behind this: another router, a layer.
    pub(crate) fn behind(self, change: impl FnOnce(Router) -> Router) -> Self {
        Self {
            router: change(self.router),
            ..self
        }
    }

    /// The same page as somebody sees it whose address this is.
    pub(crate) fn from(&self, address: &str) -> Self {
        let address: SocketAddr = address.parse().expect("an address");
        let router = self.router.clone().layer(Extension(ConnectInfo(address)));
        Self::of(self.queues.clone(), router)
    }

    pub(crate) async fn signed_in() -> Self {
        let mut site = Self::new();
        site.sign_in("").await;
        site
    }

    /// Signs in, at the path of the page.
    pub(crate) async fn sign_in(&mut self, base: &str) {
        let answer = self
            .post(&format!("{base}/sign-in"), &[("token", TOKEN)])
            .await;
        assert_eq!(answer.status, 303, "{answer:?}");
        self.cookie = answer.cookie();
    }

    pub(crate) fn cookie(&self) -> &str {
        self.cookie.as_deref().expect("somebody signed in")
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self
            .router
            .clone()
            .call(request)
            .await
            .expect("it never fails");
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.expect("a body");
        Answer {
            status: parts.status,
            headers: parts.headers,
            text: String::from_utf8(body.to_vec()).expect("text"),
        }
    }

    /// A request with these headers, and a host unless they have one.
    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        if !headers.iter().any(|(name, _)| *name == "host") {
            request = request.header("host", "localhost");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = Body::from(body.to_owned());
        self.send(request.body(body).expect("a request")).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        let cookie: Vec<_> = self
            .cookie
            .iter()
            .map(|cookie| ("cookie", cookie.as_str()))
            .collect();
        self.ask("GET", path, &cookie, "").await
    }

    /// A page that is there.
    pub(crate) async fn page(&self, path: &str) -> String {
        let answer = self.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.text
    }

    /// Sends a form, as a browser does that has the cookie.
    pub(crate) async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let mut headers = vec![
            ("content-type", "application/x-www-form-urlencoded"),
            ("origin", "http://localhost"),
        ];
        headers.extend(self.cookie.iter().map(|cookie| ("cookie", cookie.as_str())));
        self.ask("POST", path, &headers, &form(fields)).await
    }

    pub(crate) async fn api(&self, queue: &str, body: &str) -> Answer {
        let bearer = format!("Bearer {TOKEN}");
        let headers = [
            ("content-type", "application/json"),
            ("authorization", &bearer),
        ];
        self.ask(
            "POST",
            &format!("/api/queues/{queue}/actions"),
            &headers,
            body,
        )
        .await
    }

    pub(crate) async fn reliable(&self, name: &str) -> Arc<dyn ReliableQueue> {
        let config = ReliableConfig::default();
        let name = name.parse().expect("a name");
        let opened = self.queues.backend().open_reliable(&name, &config).await;
        opened.expect("it opens")
    }

    /// A grouped queue with these ready messages.
    pub(crate) async fn grouped(&self, name: &str, keys: &[&[u8]]) -> Arc<dyn GroupedQueue> {
        let queue = self
            .queues
            .grouped(name)
            .open::<u64>()
            .await
            .expect("it opens");
        for key in keys {
            queue.push(&1, *key).await.expect("it takes it");
        }
        Arc::clone(queue.queue())
    }
}

/// Pushes a message and buries it.
pub(crate) async fn bury(queue: &dyn ReliableQueue, body: &str, reason: &str) -> MessageId {
    let id = push(queue, body).await;
    let delivery = queue
        .receive_one(HOUR, Duration::ZERO)
        .await
        .expect("it answers");
    let receipt = delivery.expect("a message").receipt;
    assert_eq!(receipt.id, id, "nothing else is ready");
    let settled = queue.settle_one(Settlement::bury(receipt, reason)).await;
    let _ = settled.expect("it answers");
    id
}

pub(crate) async fn push(queue: &dyn ReliableQueue, body: &str) -> MessageId {
    let headers = Headers::new().with_job(format!("job of {body}"));
    let push = Push::new(Bytes::copy_from_slice(body.as_bytes())).with_headers(headers);
    queue
        .push_one(push)
        .await
        .expect("it takes it")
        .id()
        .expect("it has room")
}

pub(crate) async fn dead(queue: &dyn ReliableQueue) -> Vec<DeadLetter> {
    queue
        .dead_letters(Page::first(1_000))
        .await
        .expect("it answers")
        .entries
}

fn form(fields: &[(&str, &str)]) -> String {
    let encode = |text: &str| -> String {
        // A browser sends each line break as two characters.
        let text = text.replace("\r\n", "\n").replace('\n', "\r\n");
        text.bytes().map(|byte| format!("%{byte:02X}")).collect()
    };
    let pairs = fields
        .iter()
        .map(|(name, value)| format!("{}={}", encode(name), encode(value)));
    pairs.collect::<Vec<_>>().join("&")
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().expect("text"))
    }

    /// The cookie that the browser keeps, as it sends it.
    pub(crate) fn cookie(&self) -> Option<String> {
        let set = self.header("set-cookie").split(';').next()?;
        (!set.is_empty()).then(|| set.to_owned())
    }

    /// The words of the page, without markup.
    pub(crate) fn words(&self) -> String {
        words(&self.text)
    }
}

/// The words of a piece of a page, with one blank in place of markup.
pub(crate) fn words(page: &str) -> String {
    let mut words = String::new();
    let mut rest = page;
    while let Some((text, tag)) = rest.split_once('<') {
        words.push_str(text);
        words.push(' ');
        rest = tag.split_once('>').map_or("", |(_, rest)| rest);
    }
    words.push_str(rest);
    unescape(&words.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The rows of the tables of a page, each as the words of its cells.
pub(crate) fn rows(page: &str) -> Vec<Vec<String>> {
    let rows = page.split("<tr>").skip(1);
    let row = |row: &str| -> Vec<String> {
        let row = row.split("</tr>").next().expect("a piece");
        let cells = row.split("<td").skip(1);
        cells.map(|cell| words(&format!("<td{cell}"))).collect()
    };
    rows.map(row).filter(|row| !row.is_empty()).collect()
}

/// The values of an attribute in a page, in their order.
pub(crate) fn attributes(page: &str, name: &str) -> Vec<String> {
    let start = format!(" {name}=\"");
    let values = page.split(&start).skip(1);
    values
        .map(|rest| unescape(rest.split('"').next().expect("a piece")))
        .collect()
}

/// A form of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) to: String,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) button: String,
}

impl Form {
    /// The forms of a page that change something, apart from 'Sign out'.
    pub(crate) fn all(page: &str) -> Vec<Self> {
        let forms = page.split("<form").skip(1);
        let forms = forms.map(|form| form.split("</form>").next().expect("a piece"));
        let forms = forms.filter(|form| attributes(form, "method") == ["post"]);
        let forms = forms.map(|form| {
            let texts = form.split("<textarea").skip(1);
            let texts = texts.filter_map(|text| {
                Some((attributes(text, "name").into_iter().next()?, String::new()))
            });
            let inputs = form.split("<input").skip(1);
            let fields = inputs.filter_map(|input| {
                let input = input.split('>').next()?;
                let value = attributes(input, "value").pop()?;
                Some((attributes(input, "name").pop()?, value))
            });
            Self {
                to: attributes(form, "action").pop().expect("an address"),
                fields: fields.chain(texts).collect(),
                button: words(form.split("<button>").nth(1).expect("a button")),
            }
        });
        forms.filter(|form| form.button != "Sign out").collect()
    }

    pub(crate) fn of(page: &str, button: &str) -> Self {
        let all = Self::all(page);
        let found = all.iter().find(|form| form.button == button);
        found
            .unwrap_or_else(|| panic!("no button {button}: {all:?}"))
            .clone()
    }

    pub(crate) async fn press(&self, site: &Site) -> Answer {
        let fields = self
            .fields
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()));
        site.post(&self.to, &fields.collect::<Vec<_>>()).await
    }
}

fn unescape(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">");
    text.replace("&quot;", "\"").replace("&amp;", "&")
}
