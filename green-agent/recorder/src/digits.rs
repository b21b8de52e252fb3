//! Preserves integers that do not fit into 64 bits. As JSON numbers they would become floating-point numbers
//! and lose digits, so transcripts contain them as strings.

use std::borrow::Cow;

/// Returns JSON in which each such integer is a string. Bytes that are not JSON may be changed.
pub(super) fn kept(json: &[u8]) -> Cow<'_, [u8]> {
    let mut changed: Option<Vec<u8>> = None;
    let (mut at, mut copied) = (0, 0);
    while let Some(byte) = json.get(at) {
        let end = match byte {
            b'"' => after_string(json, at),
            b'-' | b'0'..=b'9' => after_number(json, at),
            _ => at + 1,
        };
        let token = &json[at..end];
        if is_too_large(token) {
            let out = changed.get_or_insert_default();
            out.extend_from_slice(&json[copied..at]);
            out.push(b'"');
            out.extend_from_slice(token);
            out.push(b'"');
            copied = end;
        }
        at = end;
    }
    match changed {
        None => Cow::Borrowed(json),
        Some(mut out) => {
            out.extend_from_slice(&json[copied..]);
            Cow::Owned(out)
        }
    }
}

/// Returns the position after the string that begins at `from`.
fn after_string(json: &[u8], from: usize) -> usize {
    let mut at = from + 1;
    while let Some(byte) = json.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    json.len()
}

fn after_number(json: &[u8], from: usize) -> usize {
    let of_number = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
    let length = json[from..].iter().take_while(|byte| of_number(byte));
    from + length.count()
}

/// Returns whether an integer may exceed 64 bits: the longest that fits has 20 characters, but one with 19
/// and a sign may be too large.
fn is_too_large(token: &[u8]) -> bool {
    const SURELY_FITS: usize = 18;
    let digits = token.strip_prefix(b"-").unwrap_or(token);
    if digits.len() <= SURELY_FITS || !digits.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let text = std::str::from_utf8(token).unwrap_or_default();
    text.parse::<i64>().is_err() && text.parse::<u64>().is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_integers_that_do_not_fit_become_texts() {
        for (json, expected) in [
            ("18446744073709551615", "18446744073709551615"),
            ("18446744073709551616", r#""18446744073709551616""#),
            ("-9223372036854775808", "-9223372036854775808"),
            (r#"{"a":-9223372036854775809}"#, r#"{"a":"-9223372036854775809"}"#),
            ("[1,100000000000000000000,2]", r#"[1,"100000000000000000000",2]"#),
            (r#""\"18446744073709551616""#, r#""\"18446744073709551616""#),
            ("1.00000000000000000000001", "1.00000000000000000000001"),
            ("1e100", "1e100"),
            (r#""unfinished \"#, r#""unfinished \"#),
        ] {
            let kept = kept(json.as_bytes());
            assert_eq!(std::str::from_utf8(&kept).unwrap(), expected);
        }
    }
}
