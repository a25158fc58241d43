//! Orders from a JSON-lines file.

use serde::Deserialize;

/// One line of the file. Times are in milliseconds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Order {
    /// Names the order.
    pub(crate) order: u64,
    /// The time of its placing, from the start.
    #[serde(default)]
    pub(crate) placed_ms: u64,
    /// The time from then on in which it must be paid.
    pub(crate) timeout_ms: u64,
    /// The time of its payment, from the placing; left out if the customer never pays.
    pub(crate) paid_ms: Option<u64>,
    /// Its line in the file.
    #[serde(skip)]
    pub(crate) line: usize,
}

/// The orders in a file, and the bad lines: number and reason.
pub(crate) fn read(file: &[u8]) -> (Vec<Order>, Vec<(usize, String)>) {
    let mut orders = Vec::new();
    let mut bad_lines = Vec::new();
    for (line, text) in (1..).zip(file.split(|&byte| byte == b'\n')) {
        if text.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match serde_json::from_slice::<Order>(text) {
            Ok(order) => orders.push(Order { line, ..order }),
            Err(error) => bad_lines.push((line, explain(&error, text))),
        }
    }
    (orders, bad_lines)
}

fn explain(error: &serde_json::Error, text: &[u8]) -> String {
    let reason = error.to_string();
    // The parser counts lines within this line, so its line number is wrong here.
    let reason = reason.split(" at line ").next().unwrap_or_default();
    let start: String = String::from_utf8_lossy(text).chars().take(60).collect();
    format!("{reason}, in column {}: {start}", error.column())
}
