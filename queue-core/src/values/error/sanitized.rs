//! Text from elsewhere in one line: a server's words, a stored value, a user's input.

use std::fmt;

use crate::sanitized;

/// Longer than any text of ours.
const LONGEST: usize = 900;

/// Shows a text as [`sanitized`] does. Leaves out the middle of a long text: the end has the way out.
pub(crate) struct Sanitized<'a>(pub(crate) &'a str);

impl fmt::Display for Sanitized<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(text) = self;
        if text.len() <= LONGEST {
            return f.write_str(&sanitized(text));
        }
        let (mut start, mut end) = (LONGEST / 2, text.len() - LONGEST / 2);
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        while !text.is_char_boundary(end) {
            end += 1;
        }
        f.write_str(&sanitized(&text[..start]))?;
        f.write_str(" … ")?;
        f.write_str(&sanitized(&text[end..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_ours_is_shown_as_it_is() {
        let text = "queue names: A-Z a-z 0-9 … _ : -";
        assert_eq!(Sanitized(text).to_string(), text);
    }

    #[test]
    fn control_characters_become_blanks() {
        assert_eq!(Sanitized("a\r\nb\u{1b}[31mc").to_string(), "a  b [31mc");
    }

    #[test]
    fn of_a_long_text_the_middle_is_left_out() {
        for filling in ["x", "ü", "€", "🦀"] {
            let text = format!("begin {} end", filling.repeat(10_000));
            let shown = Sanitized(&text).to_string();
            assert!(
                shown.starts_with("begin ") && shown.ends_with(" end"),
                "{shown}"
            );
            assert!(shown.len() < LONGEST + 6, "{}", shown.len());
        }
    }
}
