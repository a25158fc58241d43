//! The path at which a page is mounted, and its reader: each page's frame and links depend on both.

use std::{fmt::Write, sync::Arc};

use axum::{
    extract::{FromRequestParts, OriginalUri},
    http::{StatusCode, request::Parts},
};

use super::{Web, public_url::is_base};

/// The reader of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    /// Nobody can act here.
    ReadOnly,
    /// Somebody who may sign in.
    SignedOut,
    /// Somebody who may act.
    SignedIn,
}

/// The frame of the page that a request asks for.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    base: Arc<str>,
    pub(super) reader: Reader,
}

impl Frame {
    pub(super) fn of(web: &Web, parts: &Parts, reader: Reader) -> Self {
        let base = match &web.public_url {
            Some(url) => url.base.as_str().into(),
            None => mounted_at(parts).into(),
        };
        Self { base, reader }
    }

    pub(super) fn acts(&self) -> bool {
        self.reader == Reader::SignedIn
    }

    /// The address of a page of this site, by the parts of its path. A part is a name of any kind: the address never
    /// leads elsewhere.
    pub(super) fn to(&self, parts: &[&str]) -> String {
        let mut address = self.base.to_string();
        for part in parts {
            address.push('/');
            encode(part, &mut address);
        }
        address
    }

    /// The same, for the entries after this one.
    pub(super) fn after(&self, parts: &[&str], after: &str) -> String {
        self.query(parts, &[("after", after)])
    }

    /// The same, with the values of a query. Empty ones are left out.
    pub(super) fn query(&self, parts: &[&str], values: &[(&str, &str)]) -> String {
        let mut address = self.to(parts);
        let mut before = '?';
        for (name, value) in values.iter().filter(|(_, value)| !value.is_empty()) {
            address.push(before);
            address.push_str(name);
            address.push('=');
            encode(value, &mut address);
            before = '&';
        }
        address
    }

    /// The path that a cookie of this site is sent to.
    pub(super) fn cookie_path(&self) -> &str {
        match &*self.base {
            "" => "/",
            base => base,
        }
    }
}

impl FromRequestParts<Web> for Frame {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, _: &Web) -> Result<Self, Self::Rejection> {
        // The guard put it there.
        let frame = parts.extensions.get::<Self>();
        frame.cloned().ok_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

/// The path before this page's own, if the router is nested in another.
fn mounted_at(parts: &Parts) -> &str {
    let own = parts.uri.path();
    let whole = parts.extensions.get::<OriginalUri>();
    let whole = whole.map_or(own, |uri| uri.0.path());
    let base = match whole.strip_suffix(own) {
        Some(base) => base,
        // `/` of a nested router is asked for without it.
        None if own == "/" => whole,
        None => "",
    };
    let base = base.trim_end_matches('/');
    if is_base(base) { base } else { "" }
}

/// Writes a part of a path or a query, with everything encoded that has a meaning in an address.
fn encode(part: &str, address: &mut String) {
    for byte in part.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            address.push(char::from(byte));
        } else {
            let _ = write!(address, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{Request, Uri};

    use super::*;

    fn base(whole: &str, own: &str) -> String {
        let (mut parts, ()) = Request::builder()
            .uri(own)
            .body(())
            .expect("a request")
            .into_parts();
        let whole: Uri = whole.parse().expect("a path");
        parts.extensions.insert(OriginalUri(whole));
        mounted_at(&parts).to_owned()
    }

    #[test]
    fn a_nested_page_knows_where_it_is() {
        for (whole, own, expected) in [
            ("/", "/", ""),
            ("/dead", "/dead", ""),
            ("/ops/dead", "/dead", "/ops"),
            ("/ops", "/", "/ops"),
            ("/ops/", "/", "/ops"),
            ("/a/b/queues/x:y/dead?after=3", "/queues/x:y/dead", "/a/b"),
            // Paths that a link or a cookie would take for something else.
            ("//evil.example/dead", "/dead", ""),
            ("/a;Domain=evil.example/dead", "/dead", ""),
        ] {
            assert_eq!(base(whole, own), expected, "{whole}");
        }
    }

    #[test]
    fn each_name_is_one_part_of_a_path_on_this_site() {
        let frame = Frame {
            base: "/ops".into(),
            reader: Reader::ReadOnly,
        };
        for name in [
            "jobs:mail",
            "https:evil.example",
            "//evil.example",
            "a/b",
            "a?b#c",
            "ü %2F",
            "\\evil",
            "a\r\nb",
        ] {
            let address = frame.to(&["queues", name, "dead"]);
            let part = address
                .strip_prefix("/ops/queues/")
                .and_then(|rest| rest.strip_suffix("/dead"));
            let part = part.expect("one part");
            assert!(
                part.bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-._~%".contains(&byte)),
                "{part}"
            );
        }
        assert_eq!(
            frame.to(&["queues", "jobs:mail"]),
            "/ops/queues/jobs%3Amail"
        );
        assert_eq!(
            frame.after(&["queues"], "a:b&c"),
            "/ops/queues?after=a%3Ab%26c"
        );
    }
}
