//! The token of those who may act.

use std::sync::Arc;

use queue_core::Error;

/// Bytes of the shortest token.
const SHORTEST: usize = 16;
/// Different characters of a token, at least.
const DIFFERENT: usize = 6;

#[derive(Clone)]
pub(super) struct Token(Arc<str>);

impl Token {
    /// The error does not show the token.
    pub(super) fn new(token: Arc<str>) -> Result<Self, Error> {
        let mut letters: Vec<u8> = token.bytes().collect();
        letters.sort_unstable();
        letters.dedup();
        let weakness = match () {
            () if token.is_empty() => "it is empty".to_owned(),
            () if !token.bytes().all(|byte| byte.is_ascii_graphic()) => {
                "it has blanks, control characters or letters beyond ASCII, which no header carries"
                    .to_owned()
            }
            () if token.len() < SHORTEST => {
                format!("it has {} characters of {SHORTEST} at least", token.len())
            }
            () if letters.len() < DIFFERENT => {
                format!(
                    "it has {} different characters of {DIFFERENT} at least",
                    letters.len()
                )
            }
            () => return Ok(Self(token)),
        };
        Err(Error::invalid(format!(
            "the token for actions: {weakness}. `openssl rand -hex 16` makes a good one"
        )))
    }

    /// Compares without telling by the time how much of the token was right.
    pub(super) fn is(&self, given: &str) -> bool {
        is_same(given, &self.0)
    }
}

/// Compares without telling by the time how much was right.
pub(super) fn is_same(given: &str, right: &str) -> bool {
    let (given, right) = (given.as_bytes(), right.as_bytes());
    let pairs = given.iter().zip(right);
    let differences = pairs.fold(0, |all, (one, other)| all | (one ^ other));
    given.len() == right.len() && differences == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weak_token_is_refused_and_not_shown() {
        for weak in [
            "",
            " ",
            "                    ",
            "0123456789abcde",
            "0123456789abcdef ",
            "\t0123456789abcdef",
            "0123456789 abcdef",
            "0123456789abcdef\n",
            "0123456789abcdefü",
            "aaaaaaaaaaaaaaaaaaaa",
            "abcdeabcdeabcdeabcde",
            "0123456789abcdef\0",
        ] {
            let Err(error) = Token::new(weak.into()) else {
                panic!("{weak:?}")
            };
            let text = error.to_string();
            assert!(text.contains("openssl rand -hex 16"), "{text}");
            assert!(
                weak.trim().is_empty() || !text.contains(weak.trim()),
                "{text}"
            );
        }
        for strong in [
            "0123456789abcdef",
            "abcdefabcdefabcdef",
            "a-b_c.d~e+f/g=h:i;j",
        ] {
            assert!(
                Token::new(strong.into()).is_ok_and(|token| token.is(strong)),
                "{strong}"
            );
        }
    }

    #[test]
    fn only_the_whole_token_is_the_token() {
        let token = Token::new("0123456789abcdef".into()).expect("a good one");
        for other in [
            "",
            "0123456789abcde",
            "0123456789abcdef0",
            "0123456789abcdeF",
            "1123456789abcdef",
        ] {
            assert!(!token.is(other), "{other}");
        }
    }
}
