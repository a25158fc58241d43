//! Chains of errors: each error's text is shown once.

use std::error::Error;

/// The texts of an error and its sources, of which none contains the next one.
///
/// # Panics
///
/// If an error's text contains the text of its source: whoever prints the chain would print that twice.
pub fn texts(error: &dyn Error) -> Vec<String> {
    let mut texts = vec![error.to_string()];
    let mut next = error.source();
    while let Some(source) = next {
        let (text, before) = (source.to_string(), &texts[texts.len() - 1]);
        assert!(
            !before.contains(&text),
            "the cause '{text}' is in the text, too: '{before}'"
        );
        texts.push(text);
        next = source.source();
    }
    texts
}
