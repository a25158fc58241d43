//! Why a codec refuses a value or a body, without the value: bodies hold what nobody but their consumers should read, and
//! errors go to logs, to operators and into the reasons of dead letters.

use std::fmt;

/// The reason for which a codec refused a value or a body: the place, and the expected type.
#[derive(Debug)]
pub(super) struct Refusal(String);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Refusal {
    /// Of a text without a value.
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }

    pub(super) fn into_text(self) -> String {
        self.0
    }

    /// Of the text of a serde error.
    pub(super) fn of_serde(message: &str) -> Self {
        Self(without_value(message).unwrap_or_else(|| "its type's own check refuses it".to_owned()))
    }

    pub(super) fn of_json(error: &serde_json::Error) -> Self {
        let text = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        match text.strip_suffix(&place) {
            // Syntax errors have fixed texts.
            _ if !error.is_data() => Self(text),
            Some(message) => Self(format!("{}{place}", Self::of_serde(message))),
            None => Self::of_serde(&text),
        }
    }
}

/// The text of an error that serde makes, without the value; `None` for any other text, which may be anything.
fn without_value(message: &str) -> Option<String> {
    for what in ["invalid type", "invalid value"] {
        let Some(rest) = message.strip_prefix(what) else {
            continue;
        };
        let (found, expected) = found_and_expected(rest.strip_prefix(": ")?)?;
        return Some(format!("{what}: {found}, expected {expected}"));
    }
    for what in ["unknown variant", "unknown field"] {
        let Some(rest) = message.strip_prefix(what) else {
            continue;
        };
        // The name is a part of the value, and may look like the rest of the text.
        let ends = ["`, expected ", "`, there are no "].map(|next| rest.rfind(next));
        let end = ends.into_iter().flatten().max()?;
        return Some(format!("{what}{}", &rest[end + 1..]));
    }
    let fixed =
        |prefix: &str, rest_is: fn(&str) -> bool| message.strip_prefix(prefix).is_some_and(rest_is);
    let is_field = |rest: &str| rest.ends_with('`') && rest.matches('`').count() == 1;
    let is_name = |rest: &str| rest.chars().all(|c| c.is_alphanumeric() || c == '_');
    let is_length = |rest: &str| {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
        end > 0 && rest[end..].starts_with(", expected ")
    };
    let is_known = fixed("missing field `", is_field)
        || fixed("duplicate field `", is_field)
        || fixed("invalid length ", is_length)
        || fixed("data did not match any variant of untagged enum ", is_name);
    is_known.then(|| message.to_owned())
}

/// The type that was found, without the value, and the expected one.
fn found_and_expected(text: &str) -> Option<(&str, &str)> {
    const EXPECTED: &str = ", expected ";
    if let Some(rest) = text.strip_prefix("string \"") {
        return Some(("string", behind_quotes(rest)?.strip_prefix(EXPECTED)?));
    }
    if let Some(rest) = text.strip_prefix("character `") {
        let mut chars = rest.chars();
        chars.next()?;
        let expected = chars.as_str().strip_prefix('`')?.strip_prefix(EXPECTED)?;
        return Some(("character", expected));
    }
    for found in ["boolean", "integer", "floating point"] {
        let value = text
            .strip_prefix(found)
            .and_then(|rest| rest.strip_prefix(" `"));
        if let Some((_, expected)) = value.and_then(|rest| rest.split_once('`')) {
            return Some((found, expected.strip_prefix(EXPECTED)?));
        }
    }
    for found in [
        "byte array",
        "unit value",
        "null",
        "Option value",
        "newtype struct",
        "sequence",
        "map",
        "enum",
        "unit variant",
        "newtype variant",
        "tuple variant",
        "struct variant",
    ] {
        let rest = text.strip_prefix(found);
        if let Some(expected) = rest.and_then(|rest| rest.strip_prefix(EXPECTED)) {
            return Some((found, expected));
        }
    }
    None
}

/// The text behind the end of a string in quotes, of which this is the part behind the beginning.
fn behind_quotes(text: &str) -> Option<&str> {
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return Some(&text[at + 1..]),
            _ => {}
        }
    }
    None
}
