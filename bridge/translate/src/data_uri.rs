//! Reads and writes `data:` URIs (RFC 2397).

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};

use bridge_protocol::a2a::decode_base64;

/// The media type used where none is given.
const BYTES: &str = "application/octet-stream";

/// The mark of data in base64.
const BASE64: &str = ";base64";

/// Writes a URI with these bytes.
pub(crate) fn write(media_type: Option<&str>, bytes: &[u8]) -> String {
    let media_type = media_type.unwrap_or(BYTES);
    format!("data:{media_type};base64,{}", BASE64_STANDARD.encode(bytes))
}

/// Reads the media type and bytes of a `data:` URI; `None` if it cannot be decoded.
pub(crate) fn read(uri: &str) -> Option<(Option<String>, Vec<u8>)> {
    let scheme = uri.get(..5)?;
    let rest = uri.get(5..).filter(|_| scheme.eq_ignore_ascii_case("data:"))?;
    let (head, data) = rest.split_once(',')?;
    let end = head.len().saturating_sub(BASE64.len());
    let (media_type, bytes) = match head.split_at_checked(end) {
        Some((media_type, mark)) if mark.eq_ignore_ascii_case(BASE64) => {
            // `+`, `/` and `=` may be escaped in a URI.
            let escaped = || decode_base64(str::from_utf8(&decode_percent(data)?).ok()?).ok();
            (media_type, decode_base64(data).ok().or_else(escaped)?)
        }
        Some(_) | None => (head, decode_percent(data)?),
    };
    let media_type = Some(media_type).filter(|kind| !kind.is_empty());
    Some((media_type.map(ToString::to_string), bytes))
}

fn decode_percent(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        match byte {
            b'%' => {
                let [high, low, tail @ ..] = rest else {
                    return None;
                };
                let digit = |byte: &u8| char::from(*byte).to_digit(16);
                bytes.push(u8::try_from(16 * digit(high)? + digit(low)?).ok()?);
                rest = tail;
            }
            plain => bytes.push(plain),
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_holds_a_type_and_bytes() {
        for (uri, expected) in [
            ("data:image/png;base64,AAEC", Some((Some("image/png"), &[0_u8, 1, 2][..]))),
            ("DATA:;base64,AAEC", Some((None, &[0, 1, 2]))),
            ("data:image/png;BASE64,AAEC", Some((Some("image/png"), &[0, 1, 2]))),
            ("data:;base64,%2B%2f8%3D", Some((None, &[0xfb, 0xff]))),
            ("data:äbase64,a", Some((Some("äbase64"), b"a"))),
            (
                "data:text/plain;charset=utf-8,a%20b",
                Some((Some("text/plain;charset=utf-8"), b"a b")),
            ),
            ("data:,", Some((None, b""))),
            ("data:text/plain", None),
            ("data:,%4", None),
            ("data:,%zz", None),
            ("data:,%+1", None),
            ("data:x;base64,*", None),
            ("data:x;base64,%ff", None),
            ("https://example.com/a,b", None),
            ("dätä:,", None),
            ("", None),
        ] {
            let expected = expected.map(|(kind, bytes)| (kind.map(String::from), bytes.to_vec()));
            assert_eq!(read(uri), expected, "{uri}");
        }
    }

    #[test]
    fn written_values_are_read() {
        let uri = write(None, b"\xff\x00");
        assert_eq!(uri, "data:application/octet-stream;base64,/wA=");
        assert_eq!(read(&uri), Some((Some(BYTES.to_string()), b"\xff\x00".to_vec())));
    }
}
