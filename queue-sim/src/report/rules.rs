//! The rules as `CONTRACT.md` states them: number, name and first sentence.

/// The text of this rule of the contract, or of another property of every run; `None` for any other
/// name.
pub fn rule(number: &str) -> Option<&'static str> {
    let found = RULES.iter().find(|(name, _)| *name == number);
    found.map(|(_, text)| *text)
}

/// A test compares these with `CONTRACT.md`, which a published crate does not have beside it.
const RULES: &[(&str, &str)] = &[
    (
        "L1",
        "One live lease. At any instant a message has at most one live lease.",
    ),
    (
        "L2",
        "Redelivery has a cause: retry, defer, release or expiry.",
    ),
    (
        "L3",
        "Done is done. An acked message is never delivered again.",
    ),
    (
        "L4",
        "Fencing. Settling or extending with a receipt that is not the message's live lease \
         (now < deadline, same token) changes nothing and answers LeaseLost.",
    ),
    (
        "L5",
        "Nothing lost, nothing made up. accepted (duplicates not counted) = ready + delayed + \
         leased + dead + acked + evicted + replaced + cancelled + discarded + trimmed (from the \
         dead letters) + purged + outdated, at every instant.",
    ),
    ("L6", "Attempts. The first delivery is attempt 1."),
    (
        "L7",
        "Progress. Once faults stop and handlers settle, every message is acked, dead or outdated \
         within max_attempts × (longest lease + longest retry delay) plus slack.",
    ),
    (
        "L8",
        "Cancellation. Dropping any future of the API at any await loses no message.",
    ),
    ("L9", "Dedup. A push may carry a dedup key and a window."),
    (
        "L10",
        "Leases are timed from the claim. extend sets the deadline to now + ttl, also when that \
         is sooner.",
    ),
    (
        "L11",
        "Order of what returns. Except on delay queues, released and expired messages go before \
         all others (of their priority), by id.",
    ),
    (
        "L12",
        "Atomic under failure. No crash, error or full server in the middle of an operation loses \
         a message: write the new place first, remove the old one last.",
    ),
    (
        "L13",
        "Dead letters keep the reason of the death, the attempts, and the times of push and death.",
    ),
    (
        "L14",
        "Why it failed. A retry may carry a reason (its first 1,024 bytes, cut between characters).",
    ),
    (
        "L15",
        "Cancelling. cancel takes undelivered messages out for good, ready or delayed, and counts \
         them as cancelled.",
    ),
    (
        "L16",
        "Peeking. peek shows the messages of one place as they are, and changes nothing of them: \
         the ready ones in delivery order, the delayed ones by (due, id), the leased ones by \
         (deadline, id), each with its id, attempts, age, body and headers.",
    ),
    (
        "L17",
        "Time to live. A push may limit how long its message may wait, counted from the push. Once \
         that time is over (now ≥ push + limit) the message is outdated, and no lease hands it out \
         again.",
    ),
    (
        "R1",
        "Lost history. A failover or power loss may undo acknowledged steps (which ones, per \
         durability setting, is documented).",
    ),
    (
        "R2",
        "Confirmed. Calls of a handle that was opened with a confirmation can wait until what they \
         changed has as many copies as that asks for: at so many replicas, on disk, or both.",
    ),
    (
        "F1",
        "messages are first delivered in push order (with concurrent consumers, a linearisation \
         of it).",
    ),
    ("F2", "a batch keeps its inner order."),
    (
        "D1",
        "never early, on every kind: a message that was pushed with a due time is delayed until \
         then, and counts as such.",
    ),
    (
        "D2",
        "due messages come in (due, id) order; a message that returns is due when it returns (at \
         its deadline, its release, or the end of its retry delay).",
    ),
    ("D3", "equal bodies are different messages."),
    (
        "D4",
        "reschedule, like cancel (L15), acts on an undelivered message, or says that it is too \
         late; it never half-happens.",
    ),
    (
        "D5",
        "prompt: a waiting consumer has the message within slack of its due time, also when it \
         was pushed while the consumer slept towards a later one.",
    ),
    ("P1", "the most urgent ready message first."),
    (
        "P2",
        "arrival order within a priority; L11 applies within a priority.",
    ),
    ("P3", "a returned message keeps its priority."),
    (
        "P4",
        "optional ageing a (stored): order by (arrival_ms − priority × a, id), so that strict \
         priority cannot starve the rest; arrival starts anew only after retry; that of a message \
         pushed with a due time is its due time.",
    ),
    (
        "B1",
        "ready + delayed + leased ≤ max(capacity, what was there when it was resized), at every \
         instant that anyone can observe, under any concurrency; beyond the capacity they never \
         grow.",
    ),
    (
        "B2",
        "drop-oldest removes exactly the next undelivered message in delivery order (delayed ones \
         last, by due), only when full, and reports it; if all are leased, the answer is Full.",
    ),
    ("B3", "reject: Full, and nothing changed."),
    (
        "B4",
        "block: the caller waits for room. A call that makes room tells as many waiting producers \
         as there is room for, or arms the marker. An offer that leaves room does so again, also \
         one of duplicates alone. offer reclaims first, since all consumers may be dead.",
    ),
    (
        "B5",
        "from a resize on the queue takes no more than the new capacity. What is too many goes \
         oldest first, by steps of at most 128 messages, so that nobody waits for long; resize \
         takes all steps, reports the dropped messages, and never drops a leased one.",
    ),
    (
        "B6",
        "recent(n) reads at most n ready messages, newest first, and takes none.",
    ),
    (
        "B7",
        "distinct: with a key, a push whose key is already present replaces that undelivered \
         entry (new id, new body, newest place, also when full, reported as Replaced); a leased \
         entry is untouched and a new one is added.",
    ),
    (
        "T1",
        "rotate returns items from the head and puts them at the tail in one step: a crash loses \
         nothing.",
    ),
    (
        "T2",
        "membership changes only by insert and remove; a removed item is never seen again.",
    ),
    (
        "T3",
        "with n members and no change between, an item recurs after exactly n (successful) \
         rotations.",
    ),
    (
        "T4",
        "with a pace p (stored), an item is due again p after its last visit; the order stays the \
         ring's; if no item is due, rotate answers the time until one is; a lost reply costs that \
         item one cycle.",
    ),
    (
        "O1",
        "One live claim. At any instant a key has at most one live claim (now < end), and none \
         while it is done; a claim that comes while another lives answers Busy and the time left.",
    ),
    (
        "O2",
        "Done is done. A live claim is finished (its key is done for as long as asked, from then \
         on), extended (it ends at now + ttl, also when that is sooner) or released (its key is \
         free at once); otherwise it ends by itself and its key is free.",
    ),
    (
        "O3",
        "Owner-checked. Finishing, extending or releasing with a token that is not the key's live \
         claim changes nothing and answers ClaimLost.",
    ),
    (
        "O4",
        "Bounded. Claims and marks end, at the latest after 24 h and 7 days; an ended one does \
         not count, and each claim clears away 128 of each.",
    ),
    (
        "O5",
        "What it is worth. An effect run under a claim runs at most once at a time while it does \
         not outlive that claim, and not again while its key is done.",
    ),
    (
        "linearisable",
        "Every call takes effect at one instant between its beginning and its end, and answers \
         what the contract says at that instant.",
    ),
    (
        "progress",
        "A run comes to its end: nobody waits for what never comes, or spins.",
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
        "Batches, pages and sizes are bounded, and what is beyond a bound is refused before \
         anything is done.",
    ),
    (
        "leftovers",
        "What is gone leaves nothing behind but what is counted, and its dedup mark (L5).",
    ),
    (
        "operators",
        "Pause and resume, purge, depth, counters and listings do and say what the contract has \
         them do and say.",
    ),
    (
        "waiting",
        "Who waits is woken when something may be ready, and is told how long nothing will be.",
    ),
];

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    /// The contract without its markup.
    fn contract() -> Option<String> {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../CONTRACT.md");
        let text = fs::read_to_string(page).ok()?;
        Some(text.replace("**", "").replace('`', ""))
    }

    #[test]
    fn every_rule_is_quoted_as_the_contract_has_it() {
        // A published crate has none beside it.
        let Some(contract) = contract() else { return };
        for (number, text) in RULES {
            if number.starts_with(|letter: char| letter.is_ascii_uppercase()) {
                let quoted = format!("{number} {text}");
                assert!(contract.contains(&quoted), "not in CONTRACT.md: {quoted}");
            }
        }
    }

    #[test]
    fn no_rule_is_left_out() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../CONTRACT.md");
        let Ok(text) = fs::read_to_string(page) else {
            return;
        };
        let mut numbered = 0;
        for bold in text.split("**").skip(1).step_by(2) {
            let number = bold.split(' ').next().unwrap_or_default();
            let digits = number.trim_start_matches(|letter: char| letter.is_ascii_uppercase());
            if number.len() == digits.len() + 1 && digits.parse::<u32>().is_ok() {
                numbered += 1;
                assert!(rule(number).is_some(), "{number}");
            }
        }
        assert!(numbered > 30, "{numbered}");
    }
}
