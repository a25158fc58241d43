//! Text of others on one line of a terminal, a log or an audit.

use std::borrow::Cow;

/// Whether a character is invisible, or changes how the text around it is shown: control characters, line breaks,
/// marks of the direction of writing, and characters without a width.
///
/// ```
/// use queue_core::is_unprintable;
///
/// assert!(['\n', '\u{7f}', '\u{9b}', '\u{202e}', '\u{200b}'].into_iter().all(is_unprintable));
/// assert!(!['a', 'ü', '€', '🦀', ' '].into_iter().any(is_unprintable));
/// ```
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// A text of others with blanks for its [unprintable](is_unprintable) characters, for a terminal, a log or an audit.
///
/// ```
/// use queue_core::sanitized;
///
/// assert_eq!(sanitized("no article\r\n\u{1b}[2J"), "no article   [2J");
/// assert_eq!(sanitized("ein Stück"), "ein Stück");
/// ```
pub fn sanitized(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unprintable) {
        return Cow::Borrowed(text);
    }
    let shown = text
        .chars()
        .map(|c| if is_unprintable(c) { ' ' } else { c });
    Cow::Owned(shown.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last character before each range, its ends, and the first one behind it.
    #[test]
    fn each_range_has_its_ends() {
        for (first, last) in [
            ('\0', '\u{1f}'),
            ('\u{7f}', '\u{9f}'),
            ('\u{ad}', '\u{ad}'),
            ('\u{34f}', '\u{34f}'),
            ('\u{61c}', '\u{61c}'),
            ('\u{115f}', '\u{1160}'),
            ('\u{17b4}', '\u{17b5}'),
            ('\u{180b}', '\u{180f}'),
            ('\u{200b}', '\u{200f}'),
            ('\u{2028}', '\u{202e}'),
            ('\u{2060}', '\u{206f}'),
            ('\u{3164}', '\u{3164}'),
            ('\u{feff}', '\u{feff}'),
            ('\u{ffa0}', '\u{ffa0}'),
            ('\u{fff0}', '\u{fffb}'),
            ('\u{1bca0}', '\u{1bca3}'),
            ('\u{1d173}', '\u{1d17a}'),
            ('\u{e0000}', '\u{e0fff}'),
        ] {
            assert!((first..=last).all(is_unprintable), "{first:?}");
            let around = [(first as u32).checked_sub(1), Some(last as u32 + 1)];
            let around = around.into_iter().flatten().filter_map(char::from_u32);
            assert!(!around.into_iter().any(is_unprintable), "{first:?}");
        }
    }
}
