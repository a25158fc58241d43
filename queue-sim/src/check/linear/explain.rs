//! The first difference between the backend's answers and the model's.

use std::fmt::Debug;

use super::replay::Deviation;
use crate::check::facts::Facts;

/// The most characters of a value to show.
const SHOWN: usize = 60;

/// The call at which the model disagrees, in the order in which the backend executed the calls, and
/// the field that differs. A person must say which rule that breaks: the bug may have struck long
/// before.
pub(super) fn explain(facts: &Facts<'_>, deviation: &Deviation) -> String {
    let done = &facts.branch.calls[deviation.call];
    let verb = done.record.call.name();
    let disagrees = format!("the model disagrees at {verb}, call {}", done.record.id.0);
    let no_order = "and in no other order of the calls does it agree";
    match (done.answer, &deviation.expected) {
        (Some(answer), Ok(expected)) => {
            let at = difference(answer, expected);
            let Difference { field, one, other } = at;
            format!("{disagrees}, in {field}: it says {other}, the backend {one}; {no_order}")
        }
        (Some(_), Err(kind)) => {
            format!("{disagrees}: it says {kind:?}, and the backend answers well; {no_order}")
        }
        (None, _) => format!("{disagrees}, whose answer nobody saw; {no_order}"),
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Difference {
    field: String,
    one: String,
    other: String,
}

/// The first field in which two values differ, in their `Debug` output: it has one field a line,
/// and indents inner fields.
fn difference(one: &impl Debug, other: &impl Debug) -> Difference {
    let (one, other) = (format!("{one:#?}"), format!("{other:#?}"));
    let (one, other): (Vec<&str>, Vec<&str>) = (one.lines().collect(), other.lines().collect());
    let same = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
    let shown = |lines: &[&str]| {
        lines
            .get(same)
            .map_or("nothing".to_owned(), |line| value(line))
    };
    let shorter = if one.len() <= same { &other } else { &one };
    Difference {
        field: field(&shorter[..shorter.len().min(same + 1)]),
        one: shown(&one),
        other: shown(&other),
    }
}

/// The path to the last of these lines: `deliveries[0].receipt.token`.
fn field(lines: &[&str]) -> String {
    let mut open: Vec<Level<'_>> = Vec::new();
    for line in lines {
        let text = line.trim_start();
        let depth = (line.len() - text.len()) / 4;
        open.truncate(depth);
        if let Some(list) = open.last_mut() {
            list.elements += usize::from(!text.starts_with([']', ')', '}']));
        }
        open.push(Level {
            name: name(text),
            is_list: text.ends_with('['),
            elements: 0,
        });
    }
    let mut path = String::new();
    for (nth, level) in open.iter().enumerate() {
        let list = nth.checked_sub(1).map(|outer| &open[outer]);
        if let Some(list) = list.filter(|list| list.is_list) {
            path.push_str(&format!("[{}]", list.elements.saturating_sub(1)));
        }
        if let Some(name) = level.name {
            let dot = if path.is_empty() { "" } else { "." };
            path.push_str(&format!("{dot}{name}"));
        }
    }
    match &*path {
        "" => "its answer".to_owned(),
        _ => path,
    }
}

/// A line with indented lines after it.
struct Level<'a> {
    name: Option<&'a str>,
    is_list: bool,
    elements: usize,
}

/// A line's field: the text before a colon at its beginning.
fn name(line: &str) -> Option<&str> {
    let (name, _) = line.split_once(": ")?;
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    name.chars().all(plain).then_some(name)
}

/// A line's value, shortened if it is long.
fn value(line: &str) -> String {
    let text = line.trim().trim_end_matches(',');
    let text = match name(text) {
        Some(name) => &text[name.len() + 2..],
        None => text,
    };
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() || text.ends_with(['(', '[', '{']) {
        shown.push('…');
    }
    match text {
        "]" | ")" | "}" => "no more".to_owned(),
        _ => shown,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use queue_core::{Leased, MessageId, Pushed, Settled, call::Answer};

    use super::*;

    fn parts_of_difference(one: &Answer, other: &Answer) -> (String, String, String) {
        let Difference { field, one, other } = difference(one, other);
        (field, one, other)
    }

    #[test]
    fn the_first_field_that_differs_is_named() {
        let pushed = |ids: &[u64]| {
            let accepted = |id: &u64| Pushed::Accepted(MessageId::new(*id));
            Answer::Pushed(ids.iter().map(accepted).collect())
        };
        let (field, one, other) = parts_of_difference(&pushed(&[1, 2, 3]), &pushed(&[1, 2, 4]));
        assert_eq!((&*one, &*other), ("3", "4"));
        assert_eq!(field, "[2]");
        let (_, one, other) = parts_of_difference(&pushed(&[1, 2]), &pushed(&[1, 2, 4]));
        assert_eq!((&*one, &*other), ("no more", "Accepted(…"));

        let next = |next: u64| Leased::nothing(Some(Duration::from_millis(next)));
        let (field, one, other) =
            parts_of_difference(&Answer::Leased(next(1)), &Answer::Leased(next(2)));
        assert_eq!(field, "next");
        assert_eq!((&*one, &*other), ("1ms", "2ms"));
        let answer = |settled| Answer::SettledAndLeased(vec![settled], next(1));
        let (_, one, other) = parts_of_difference(&answer(Settled::Done), &answer(Settled::Dead));
        assert_eq!((&*one, &*other), ("Done", "Dead"));
    }
}
