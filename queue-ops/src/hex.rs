//! Bytes as hexadecimal digits.

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of pairs of hexadecimal digits; `None` for any other text.
pub(crate) fn unhex(digits: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let byte = |pair: &[u8]| match pair {
        [high, low] => u8::try_from(16 * digit(high)? + digit(low)?).ok(),
        _ => None,
    };
    digits.as_bytes().chunks(2).map(byte).collect()
}
