//! JSON as its producer wrote it: the members of an object with their original bytes, and values with their original
//! text. A float would change some numbers.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

/// The members of a text that is a JSON object. If several have the same name, the last one counts.
#[derive(Debug)]
pub(crate) struct Members<'a> {
    text: &'a [u8],
    by_name: BTreeMap<String, &'a RawValue>,
}

impl<'a> Members<'a> {
    /// Returns `None` if the text is not an object.
    pub(crate) fn read(text: &'a [u8]) -> Option<Self> {
        let by_name = serde_json::from_slice(text).ok()?;
        Some(Self { text, by_name })
    }

    /// A value's text, as it was written.
    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        self.by_name.get(name).map(|value| value.get())
    }

    /// A value that is a string.
    pub(crate) fn string(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.get(name)?).ok()
    }

    /// Names and values, sorted by name, without the spaces between them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &'a str)> {
        let members = self.by_name.iter();
        members.map(|(name, value)| (&**name, value.get()))
    }

    /// The text with this value for the member; all other bytes stay the same. A new member is added last.
    pub(crate) fn with(&self, name: &str, value: &str) -> Vec<u8> {
        let (from, to, added) = match self.get(name) {
            Some(old) => {
                // Values borrow from the text.
                let from = old.as_ptr().addr() - self.text.as_ptr().addr();
                (from, from + old.len(), value.to_owned())
            }
            None => {
                let end = self.text.iter().rposition(|byte| *byte == b'}');
                let end = end.unwrap_or(self.text.len());
                let comma = if self.by_name.is_empty() { "" } else { "," };
                (end, end, format!("{comma}\"{name}\":{value}"))
            }
        };
        [&self.text[..from], added.as_bytes(), &self.text[to..]].concat()
    }
}

/// One text for all spellings of a value: a number by its exact decimal value, a string by its characters, arrays and
/// objects as they are written. `None` for null.
pub(crate) fn same_for_equals(value: &str) -> Option<String> {
    match value.as_bytes().first()? {
        b'n' => None,
        b'"' => {
            let string: Option<String> = serde_json::from_str(value).ok();
            // Half of a UTF-16 surrogate pair is not text.
            let written = string.and_then(|string| serde_json::to_string(&string).ok());
            Some(written.unwrap_or_else(|| value.to_owned()))
        }
        b'-' | b'0'..=b'9' => Some(decimal(value).unwrap_or_else(|| value.to_owned())),
        _ => Some(value.to_owned()),
    }
}

/// A number's digits from the first to the last non-zero one, and the power of ten of the last. `None` if the power
/// exceeds an `i64`.
fn decimal(number: &str) -> Option<String> {
    let (sign, number) = match number.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", number),
    };
    let (mantissa, power) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return Some("0".to_owned());
    }
    let power: i64 = power.parse().ok()?;
    let zeros = digits.len() as i64 - significant.len() as i64;
    let power = power.checked_add(zeros - fraction.len() as i64)?;
    Some(match power {
        0 => format!("{sign}{significant}"),
        _ => format!("{sign}{significant}e{power}"),
    })
}

/// The integer part of a number, limited to the range of an `i64`; 0 for any other value.
pub(crate) fn whole(value: &str) -> i64 {
    let is_number = value.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    let exact = value.parse().ok();
    // The cast saturates.
    let rounded = || Some(value.parse::<f64>().ok()? as i64);
    exact.or_else(rounded).filter(|_| is_number).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_one_text_and_others_have_not() {
        for (value, text) in [
            ("7", Some("7")),
            ("70", Some("7e1")),
            ("0.070e3", Some("7e1")),
            ("-1.50E-2", Some("-15e-3")),
            ("-0", Some("0")),
            ("0e99999999999999999999", Some("0")),
            ("1e99999999999999999999", Some("1e99999999999999999999")),
            ("1e9223372036854775807", Some("1e9223372036854775807")),
            ("10e9223372036854775807", Some("10e9223372036854775807")),
            ("\"\\u0061\\/\"", Some("\"a/\"")),
            ("\"\\ud800\"", Some("\"\\ud800\"")),
            ("[1.0, 2]", Some("[1.0, 2]")),
            ("false", Some("false")),
            ("null", None),
        ] {
            assert_eq!(same_for_equals(value).as_deref(), text, "{value}");
        }
    }

    #[test]
    fn the_last_member_of_a_name_counts_and_changes() {
        let text = br#"{"a":1,"b":[{"a":3}],"a":2}"#;
        let members = Members::read(text).unwrap();
        assert_eq!(members.get("a"), Some("2"));
        let changed = String::from_utf8(members.with("a", "4")).unwrap();
        assert_eq!(changed, r#"{"a":1,"b":[{"a":3}],"a":4}"#);
        let added = Members::read(b"{ }").unwrap().with("a", "4");
        assert_eq!(added, b"{ \"a\":4}");
        for other in [&b"[]"[..], b"1", b"{", b"{\"a\":\xff}"] {
            assert!(Members::read(other).is_none());
        }
    }

    #[test]
    fn the_whole_part_of_any_number() {
        for (value, number) in [
            ("2500", 2_500),
            ("-2500.9", -2_500),
            ("1e3", 1_000),
            ("-1e400", i64::MIN),
            ("9223372036854775807", i64::MAX),
            ("\"5\"", 0),
            ("null", 0),
            ("[5]", 0),
        ] {
            assert_eq!(whole(value), number, "{value}");
        }
    }
}
