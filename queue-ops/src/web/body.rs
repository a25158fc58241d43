//! Bodies of messages on a page: JSON is laid out, other texts are shown as they are, other bytes in hexadecimal digits.

use maud::{Markup, html};
use queue_core::Bytes;
use serde::de::IgnoredAny;

use crate::hex::hex;

/// Bytes of a body that a page shows.
const SHOWN: usize = 4_096;
/// Bytes of the largest body that is read as JSON.
const READ: usize = 64 * 1024;
/// Characters of a body that a table shows on one line.
const LINE: usize = 60;

/// A body in a table: on one line if it is short; otherwise its beginning, with the rest behind it.
pub(super) fn in_table(body: &Bytes) -> Markup {
    match laid_out(body) {
        Some(json) if body.len() > LINE => {
            let line = String::from_utf8_lossy(body);
            let begin: String = line.chars().take(LINE).collect();
            html! { details { summary { code { (begin) "…" } } pre { (json) } } }
        }
        _ => html! { code { (text(body)) } },
    }
}

/// A body on a page of its own.
pub(super) fn on_page(body: &Bytes) -> Markup {
    html! { pre { (laid_out(body).unwrap_or_else(|| text(body))) } }
}

/// A body as one text: up to 4 KiB.
pub(super) fn text(body: &Bytes) -> String {
    let shown = body.slice(..body.len().min(SHOWN));
    let mut text = match std::str::from_utf8(&shown) {
        Ok(text) => text.to_owned(),
        // The cut may be within a character.
        Err(error) if error.error_len().is_none() => {
            String::from_utf8_lossy(&shown[..error.valid_up_to()]).into_owned()
        }
        Err(_) => hex(&shown),
    };
    if shown.len() < body.len() {
        text.push_str(&cut(body));
    }
    text
}

fn cut(body: &Bytes) -> String {
    format!("… ({} bytes in all)", body.len())
}

/// An object or array of JSON on lines of its own, up to 4 KiB of it; none for another body.
///
/// Its numbers, names and escapes stay as they were written, in their order.
fn laid_out(body: &Bytes) -> Option<String> {
    let is_nested =
        body.trim_ascii_start().starts_with(b"{") || body.trim_ascii_start().starts_with(b"[");
    if !is_nested || body.len() > READ || serde_json::from_slice::<IgnoredAny>(body).is_err() {
        return None;
    }
    let json = std::str::from_utf8(body).ok()?;
    let mut layout = Layout::default();
    for character in json.chars() {
        layout.push(character);
        if layout.text.len() > SHOWN {
            layout.text.push_str(&cut(body));
            break;
        }
    }
    Some(layout.text)
}

/// A JSON text that gets line breaks and indents.
#[derive(Debug, Default)]
struct Layout {
    text: String,
    depth: usize,
    /// Within a string, and behind a backslash.
    string: Option<bool>,
    /// A bracket was opened, and nothing of its content came yet.
    is_open: bool,
}

impl Layout {
    fn push(&mut self, character: char) {
        if let Some(is_escaped) = self.string {
            self.text.push(character);
            self.string = match character {
                '"' if !is_escaped => None,
                '\\' => Some(!is_escaped),
                _ => Some(false),
            };
            return;
        }
        match character {
            ' ' | '\n' | '\r' | '\t' => return,
            '}' | ']' => {
                self.depth = self.depth.saturating_sub(1);
                if !self.is_open {
                    self.new_line();
                }
            }
            _ if self.is_open => self.new_line(),
            _ => {}
        }
        self.is_open = matches!(character, '{' | '[');
        self.text.push(character);
        match character {
            '{' | '[' => self.depth += 1,
            ',' => self.new_line(),
            ':' => self.text.push(' '),
            '"' => self.string = Some(false),
            _ => {}
        }
    }

    fn new_line(&mut self) {
        self.text.push('\n');
        self.text.extend(std::iter::repeat_n("  ", self.depth));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laid(json: &str) -> Option<String> {
        laid_out(&Bytes::copy_from_slice(json.as_bytes()))
    }

    #[test]
    fn json_is_indented_and_nothing_else_of_it_changes() {
        for (json, expected) in [
            ("{}", "{}"),
            (" [ ] ", "[]"),
            ("[{}]", "[\n  {}\n]"),
            (
                r#"{"b":1.10,"a":[1e2,123456789012345678901234567890],"b":null}"#,
                "{\n  \"b\": 1.10,\n  \"a\": [\n    1e2,\n    123456789012345678901234567890\n  ],\n  \"b\": null\n}",
            ),
            (
                r#"{"a":"{x: [1,2]} \" \\","b\\":true}"#,
                "{\n  \"a\": \"{x: [1,2]} \\\" \\\\\",\n  \"b\\\\\": true\n}",
            ),
            ("[\"\u{fc} <b>\"]", "[\n  \"\u{fc} <b>\"\n]"),
        ] {
            let shown = laid(json).expect("it is JSON");
            assert_eq!(shown, expected);
            let same = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
            assert_eq!(same(&shown), same(json));
        }
    }

    #[test]
    fn other_texts_are_no_json_and_a_large_one_is_cut() {
        for text in [
            "",
            "12",
            "\"a\"",
            "{",
            "[1,]",
            "{a:1}",
            "[1] x",
            "{\"a\":1}{",
        ] {
            assert_eq!(laid(text), None, "{text}");
        }
        let deep = "[".repeat(10_000);
        assert_eq!(laid(&deep), None);
        let numbers = format!("[{}]", vec!["12345678"; 5_000].join(","));
        let shown = laid(&numbers).expect("JSON");
        assert!(
            shown.len() < SHOWN + 60 && shown.ends_with("… (45001 bytes in all)"),
            "{shown}"
        );
        let larger = format!("[{}]", vec!["1"; READ].join(","));
        assert_eq!(laid(&larger), None);
    }
}
