//! Estimates the memory that a body would take once it is parsed, its *weight*, from its bytes alone.
//!
//! A few bytes of JSON can become many of memory: an object of one member takes more than a hundred times its
//! text. So bodies that are mostly structure are refused, however small they are; what they say in texts, such
//! as files, costs what it is long and is bounded by the body's own limit.

use memchr::memchr2;

/// The weight of a value, such as an item of a list or a member of an object, beside its text, in bytes.
pub const VALUE: usize = 64;

/// The weight of an object with at least one member, in bytes.
pub const OBJECT: usize = 640;

/// The size in bytes below which a body cannot exceed the limit on its weight. Many such bodies can be too much
/// together: a program that stores many of them adds up what each of them [weighs](weigh).
pub(crate) const SMALL: usize = 16 << 10;

/// The limit on the weight of a body, in bytes: some 6,000 objects or 65,000 numbers.
pub const MOST: usize = 4 << 20;

/// The limit on the nesting of lists and objects. What is stored or sent on has a request inside further objects, and
/// JSON parsers read some 128 levels.
pub const DEEPEST: usize = 100;

/// Why a body would take too much memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooMuch {
    /// The body contains too many values.
    #[error(
        "expected values that take at most {} MiB of memory, such as {} objects or {} numbers, found more: send large data as a \
         file, in raw or by a url",
        MOST >> 20,
        MOST / (OBJECT + VALUE),
        MOST / VALUE
    )]
    Values,
    /// Lists and objects are nested too deeply.
    #[error("expected lists and objects that are nested at most {DEEPEST} deep, found more")]
    Depth,
    /// Messages of protocol buffers are nested too deeply.
    #[error(
        "expected messages that are nested at most {DEEPEST} deep, found more; in a Struct, an object takes three levels and a \
         list two"
    )]
    MessageDepth,
}

/// Checks the weight of JSON before it is parsed. Invalid JSON is not detected: the parser reports it.
///
/// # Errors
/// If the weight or the nesting is above its limit.
pub fn json(body: &[u8]) -> Result<(), TooMuch> {
    // Each bracket needs a closing one; what has none is no JSON.
    let is_opening = |byte: u8| matches!(byte, b'{' | b'[');
    let may_be_deep = || body.len() > 2 * DEEPEST && count(body, is_opening) > DEEPEST;
    match body.len() > SMALL || may_be_deep() {
        true => scan(body, DEEPEST, MOST).map(drop),
        false => Ok(()),
    }
}

/// Returns the weight of JSON in bytes: the memory that it takes beside its texts.
pub fn weigh(body: &[u8]) -> usize {
    scan(body, usize::MAX, usize::MAX).unwrap_or(usize::MAX)
}

/// Returns a number that the weight of JSON does not exceed. It takes less time than [`weigh`], since it counts the characters in
/// texts, too.
pub fn weighs_at_most(body: &[u8]) -> usize {
    let objects = count(body, |byte| byte == b'{');
    let values = count(body, |byte| matches!(byte, b'{' | b'[' | b','));
    objects.saturating_mul(OBJECT).saturating_add(values.saturating_mul(VALUE))
}

/// Counts these bytes. Sums of a byte each let the compiler look at many bytes at a time.
fn count(body: &[u8], is_counted: impl Fn(u8) -> bool) -> usize {
    let pieces = body.chunks(usize::from(u8::MAX));
    let sums = pieces.map(|piece| piece.iter().map(|byte| u8::from(is_counted(*byte))).sum::<u8>());
    sums.map(usize::from).sum()
}

/// Returns the memory that JSON takes with its texts, in bytes.
pub fn memory(body: &[u8]) -> usize {
    body.len().saturating_add(weigh(body))
}

/// Returns the weight, if it and the nesting are within these limits.
fn scan(body: &[u8], deepest: usize, most: usize) -> Result<usize, TooMuch> {
    let (mut weight, mut depth, mut is_object, mut at) = (0, 0_usize, false, 0);
    while let Some(byte) = body.get(at) {
        at += 1;
        // An empty object has no weight of its own.
        if is_object && !byte.is_ascii_whitespace() {
            weight += if *byte == b'}' { 0 } else { OBJECT };
            is_object = false;
        }
        match byte {
            b'"' => at = after_text(body, at),
            b'{' | b'[' => {
                depth += 1;
                weight += VALUE;
                is_object = *byte == b'{';
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' => weight += VALUE,
            _ => {}
        }
        if depth > deepest {
            return Err(TooMuch::Depth);
        }
        if weight > most {
            return Err(TooMuch::Values);
        }
    }
    Ok(weight)
}

/// Returns the position behind the closing quotation mark of a text whose content begins at `at`; the end of the body
/// if there is none.
pub(crate) fn after_text(body: &[u8], mut at: usize) -> usize {
    while let Some(found) = body.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += found + 1;
        match body[at - 1] {
            b'"' => return at,
            // An escaped character does not end the text.
            _ => at += 1,
        }
    }
    body.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::{
        format,
        string::{String, ToString as _},
        vec::Vec,
    };

    fn list(item: &str, count: usize) -> Vec<u8> {
        let mut body = String::from("[");
        for number in 0..count {
            body.push_str(if number == 0 { "" } else { "," });
            body.push_str(item);
        }
        (body + "]").into_bytes()
    }

    #[test]
    fn structure_weighs_and_text_does_not() {
        let files = list(&format!("\"{}\"", "[{,\\\"".repeat(1 << 18)), 8);
        assert_eq!(json(&files), Ok(()));
        for (item, most) in [
            ("{\"\":0}", MOST / (OBJECT + 2 * VALUE)),
            ("0", MOST / VALUE - 1),
            ("{}", MOST / (2 * VALUE) - 1),
            ("[]", MOST / (2 * VALUE) - 1),
        ] {
            assert_eq!(json(&list(item, most)), Ok(()), "{item}");
            assert_eq!(json(&list(item, 2 * most)), Err(TooMuch::Values), "{item}");
        }
    }

    #[test]
    fn small_bodies_have_a_weight_too() {
        let objects = list("{\"\":0}", 1_000);
        assert!(objects.len() < SMALL);
        assert_eq!(weigh(&objects), 1_000 * (OBJECT + 2 * VALUE));
        assert_eq!(weigh(b"\"[{,\""), 0);
        assert_eq!(weighs_at_most(b"\"[{,\""), OBJECT + 3 * VALUE);
    }

    proptest! {
        #[test]
        fn no_body_weighs_more_than_it_may(body in "[\\[\\]{}:,\"\\\\ 0]{0,600}") {
            prop_assert!(weigh(body.as_bytes()) <= weighs_at_most(body.as_bytes()), "{body}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        for padding in [0, SMALL] {
            let padding = b" ".repeat(padding);
            let nested =
                |depth: usize| [&padding[..], &b"[".repeat(depth), &b"]".repeat(depth)].concat();
            assert_eq!(json(&nested(DEEPEST)), Ok(()));
            let error = json(&nested(DEEPEST + 1)).unwrap_err();
            assert_eq!(error, TooMuch::Depth);
            assert!(error.to_string().contains("100 deep"));
        }
    }
}
