//! Text from elsewhere in one line: a server's words, a stored value, a user's input.

use std::fmt::{self, Write};

/// Longer than any text of ours.
const LONGEST: usize = 900;

/// Shows a text with blanks for its control characters, so that it is one line in a log. Leaves out the
/// middle of a long text: the end has the way out.
pub(crate) struct Sanitized<'a>(pub(crate) &'a str);

impl Sanitized<'_> {
    fn write(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
        text.chars()
            .try_for_each(|c| f.write_char(if c.is_control() { ' ' } else { c }))
    }
}

impl fmt::Display for Sanitized<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(text) = self;
        if text.len() <= LONGEST {
            return Self::write(f, text);
        }
        let (mut start, mut end) = (LONGEST / 2, text.len() - LONGEST / 2);
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        while !text.is_char_boundary(end) {
            end += 1;
        }
        Self::write(f, &text[..start])?;
        f.write_str(" … ")?;
        Self::write(f, &text[end..])
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
