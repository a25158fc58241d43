//! The rules as `CONTRACT.md` states them: number, name and first sentence.

/// The contract; a published crate has a copy of it.
const CONTRACT: &str = include_str!("../../CONTRACT.md");

/// The text of this rule of the contract, or of another property of every run; `None` for any other
/// name.
pub fn rule(number: &str) -> Option<String> {
    let property = PROPERTIES.iter().find(|(name, _)| *name == number);
    property.map_or_else(|| stated(number), |(_, text)| Some((*text).to_owned()))
}

/// The name and the first sentence of a rule with a name, or the whole text of a rule without one.
fn stated(number: &str) -> Option<String> {
    let named = || {
        let (_, rule) = CONTRACT.split_once(&format!("**{number} "))?;
        let (name, rest) = rule.split_once("**")?;
        let sentence = rest.lines().next()?.split_inclusive(". ").next()?;
        Some(format!("{name}{sentence}"))
    };
    let unnamed = || {
        let (_, rule) = CONTRACT.split_once(&format!("**{number}** "))?;
        Some(rule.lines().next()?.split("**").next()?.to_owned())
    };
    let text = named().or_else(unnamed)?;
    Some(text.replace('`', "").trim().to_owned())
}

const PROPERTIES: &[(&str, &str)] = &[
    (
        "linearisable",
        "Every call takes effect at one instant between its beginning and its end, and answers \
         what the contract says at that instant.",
    ),
    (
        "progress",
        "A run comes to its end: no process waits without end, or spins.",
    ),
    (
        "outcome",
        "An error says truly whether its call took effect (L8).",
    ),
    (
        "determinism",
        "The same decisions give the same run, or no failure could be replayed.",
    ),
    (
        "limits",
        "Batches, pages and sizes are bounded. A value beyond a bound is refused before anything is \
         done.",
    ),
    (
        "leftovers",
        "A message that is gone leaves nothing behind but counts, its dedup mark and its result (L5).",
    ),
    (
        "operators",
        "Pause and resume, purge, depth, counters and listings do what the contract says.",
    ),
    (
        "waiting",
        "A waiter is woken when something may be ready. A lease that finds nothing returns the time \
         until that.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_quoted_without_markup() {
        let of_leases = "Fencing. Settling or extending with a receipt that is not the message's live \
                         lease (now < deadline, same token) changes nothing and answers LeaseLost.";
        assert_eq!(rule("L4").unwrap(), of_leases);
        assert_eq!(rule("F2").unwrap(), "a batch keeps its inner order.");
        let of_the_first = "One live lease. At any instant a message has at most one live lease.";
        assert_eq!(rule("L1").unwrap(), of_the_first);
        assert!(rule("progress").is_some());
        assert_eq!(rule("F9"), None);
    }

    #[test]
    fn every_rule_has_a_text() {
        let mut numbered = 0;
        for bold in CONTRACT.split("**").skip(1).step_by(2) {
            let number = bold.split(' ').next().unwrap_or_default();
            let digits = number.trim_start_matches(|letter: char| letter.is_ascii_uppercase());
            if number.len() == digits.len() + 1 && digits.parse::<u32>().is_ok() {
                numbered += 1;
                let text = rule(number).unwrap_or_default();
                assert!(text.ends_with('.') && text.len() > 20, "{number}: {text}");
                assert!(!text.contains("**"), "{number}: {text}");
            }
        }
        assert!(numbered > 30, "{numbered}");
    }
}
