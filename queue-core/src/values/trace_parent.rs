//! The trace that a message belongs to, in its headers.

use std::fmt;

use super::Headers;

/// The span in which a message was pushed, as the W3C's Trace Context writes it: the header
/// [`traceparent`](Self::HEADER).
///
/// A producer sets it as a header; the handler finds it in the headers, on any backend and in any language.
/// This type knows no tracing system: the ids come from the producer's, and its `tracestate`, if any, is a
/// header like any other.
///
/// ```
/// use queue_core::{Headers, Push, TraceParent};
///
/// let here = TraceParent::new(0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736, 0x00f0_67aa_0ba9_02b7, true)
///     .expect("neither id is zero");
/// let push = Push::new("charge order 42").with_headers(Headers::new().with_trace_parent(here));
/// assert_eq!(
///     push.headers.get("traceparent"),
///     Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
/// );
/// assert_eq!(push.headers.trace_parent(), Some(here));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceParent {
    trace: u128,
    span: u64,
    flags: u8,
}

impl TraceParent {
    /// The header's name.
    pub const HEADER: &str = "traceparent";

    /// `version-trace-span-flags`, with the lengths that version 00 gives them.
    const LENGTH: usize = 55;

    /// This span of this trace, and whether its producer records it. `None` if an id is zero,
    /// which names nothing.
    pub const fn new(trace: u128, span: u64, sampled: bool) -> Option<Self> {
        if trace == 0 || span == 0 {
            return None;
        }
        let flags = sampled as u8;
        Some(Self { trace, span, flags })
    }

    /// Parses a header's value; `None` if it is malformed. Of a later version it reads the fields
    /// that version 00 has, as the standard asks.
    pub fn parse(text: &str) -> Option<Self> {
        let known = text.get(..Self::LENGTH)?;
        let rest = &text[Self::LENGTH..];
        let mut parts = known.split('-');
        let version = hex(parts.next()?, 2)?;
        let trace = hex(parts.next()?, 32)?;
        let span = hex(parts.next()?, 16)?;
        let flags = hex(parts.next()?, 2)?;
        let fits = match version {
            0 => rest.is_empty(),
            0xff => false,
            _ => rest.is_empty() || rest.starts_with('-'),
        };
        if !fits || parts.next().is_some() {
            return None;
        }
        let (span, flags) = (u64::try_from(span).ok()?, u8::try_from(flags).ok()?);
        let parent = Self::new(trace, span, false)?;
        Some(Self { flags, ..parent })
    }

    /// The trace's id.
    pub const fn trace_id(self) -> u128 {
        self.trace
    }

    /// The id of the span within which the message was pushed.
    pub const fn span_id(self) -> u64 {
        self.span
    }

    /// Whether the producer records this trace.
    pub const fn is_sampled(self) -> bool {
        self.flags & 1 == 1
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { trace, span, flags } = self;
        write!(f, "00-{trace:032x}-{span:016x}-{flags:02x}")
    }
}

impl Headers {
    /// Sets the trace parent, replacing an earlier one.
    #[must_use]
    pub fn with_trace_parent(self, parent: TraceParent) -> Self {
        self.with(TraceParent::HEADER, parent.to_string())
    }

    /// The trace parent, if the producer set one and it parses.
    pub fn trace_parent(&self) -> Option<TraceParent> {
        TraceParent::parse(self.get(TraceParent::HEADER)?)
    }
}

/// Parses exactly this many lower-case hexadecimal digits.
fn hex(text: &str, digits: usize) -> Option<u128> {
    let plain = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
    if text.len() != digits || !text.bytes().all(plain) {
        return None;
    }
    u128::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn reads_what_it_writes() {
        let parent = TraceParent::parse(SAMPLE).unwrap();
        assert_eq!(parent.to_string(), SAMPLE);
        assert_eq!(parent.trace_id(), 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c);
        assert_eq!(parent.span_id(), 0xb7ad_6b71_6920_3331);
        assert!(parent.is_sampled());
        let unsampled = TraceParent::new(1, 2, false).unwrap();
        assert!(!unsampled.is_sampled());
        assert_eq!(TraceParent::parse(&unsampled.to_string()), Some(unsampled));
    }

    #[test]
    fn a_later_version_may_have_more_to_say() {
        let later = SAMPLE.replacen("00", "cc", 1);
        assert!(TraceParent::parse(&later).is_some());
        assert!(TraceParent::parse(&format!("{later}-what-the-future-holds")).is_some());
        assert!(TraceParent::parse(&format!("{later}.")).is_none());
        assert!(TraceParent::parse(&format!("{SAMPLE}-more")).is_none());
    }

    #[test]
    fn malformed_trace_parents_are_refused() {
        let zero_trace = format!("00-{:032x}-b7ad6b7169203331-01", 0);
        let zero_span = format!("00-0af7651916cd43dd8448eb211c80319c-{:016x}-01", 0);
        let wrong = [
            "",
            "00",
            &SAMPLE[..54],
            &SAMPLE.to_uppercase(),
            &SAMPLE.replace('-', "_"),
            &SAMPLE.replacen("00", "ff", 1),
            &SAMPLE.replacen("-0", "-+", 1),
            &format!("é{}", &SAMPLE[2..]),
            &zero_trace,
            &zero_span,
        ];
        for text in wrong {
            assert_eq!(TraceParent::parse(text), None, "{text:?}");
        }
        assert_eq!(TraceParent::new(0, 1, true), None);
    }
}
