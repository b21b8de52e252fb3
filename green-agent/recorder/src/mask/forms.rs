//! The forms in which a secret may be written: unchanged, in URLs, in JSON, in HTML, in base64 and in hexadecimal
//! digits.

use std::fmt::Write as _;

use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use serde_json::Value;
use url::form_urlencoded;

/// The shortest base64 and hexadecimal form that is looked for: a shorter one would be found in unrelated words.
const SHORTEST: usize = 8;

/// Returns the forms of a secret.
pub(super) fn of(secret: String) -> Vec<String> {
    let in_query: String = form_urlencoded::byte_serialize(secret.as_bytes()).collect();
    let in_path = in_query.replace('+', "%20");
    let (once, ascii) = (in_json(&secret), in_ascii_json(&secret));
    let twice = [in_json(&once), in_json(&ascii)];
    let encoded = base64(secret.as_bytes()).into_iter().chain(hexadecimal(secret.as_bytes()));
    let encoded = encoded.filter(|form| form.len() >= SHORTEST);
    let mut forms: Vec<String> = [in_query, in_path, in_html(&secret), once, ascii]
        .into_iter()
        .chain(twice)
        .chain(encoded)
        .collect();
    forms.push(secret);
    forms.sort_unstable();
    forms.dedup();
    forms
}

fn in_json(text: &str) -> String {
    let json = Value::from(text).to_string();
    json[1..json.len() - 1].to_owned()
}

/// Returns the text in JSON of ASCII characters only, as Python's `json` writes it.
fn in_ascii_json(text: &str) -> String {
    let mut ascii = String::new();
    for one in in_json(text).chars() {
        match one.is_ascii() {
            true => ascii.push(one),
            // Writing to a `String` cannot fail.
            false => one.encode_utf16(&mut [0; 2]).iter().for_each(|unit| {
                let _ = write!(ascii, "\\u{unit:04x}");
            }),
        }
    }
    ascii
}

fn in_html(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#x27;")
}

/// Returns the parts of base64 texts, in both alphabets, that contain the secret at any position of the encoded bytes.
/// Three bytes become four characters, so there are three cases; characters that depend on neighbouring bytes are left
/// out.
fn base64(secret: &[u8]) -> Vec<String> {
    let standard = [(0, 0), (1, 2), (2, 3)].map(|(before, begin)| {
        let bytes = [&[0; 2][..before], secret].concat();
        let end = bytes.len() * 8 / 6;
        let text = STANDARD_NO_PAD.encode(bytes);
        text.get(begin..end).unwrap_or_default().to_owned()
    });
    let for_urls = standard.clone().map(|text| text.replace('+', "-").replace('/', "_"));
    [standard, for_urls].concat()
}

fn hexadecimal(secret: &[u8]) -> [String; 2] {
    let lower: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    [lower.to_uppercase(), lower]
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};

    use super::*;

    #[test]
    fn a_secret_is_found_in_base64_wherever_it_stands() {
        let secret = "s\u{fb}sam\u{ff}e>>key??42";
        let forms = of(secret.to_owned());
        for before in 0..7 {
            for after in 0..7 {
                let text = format!("{}{secret}{}", "a".repeat(before), "z".repeat(after));
                for encoded in [STANDARD.encode(&text), URL_SAFE.encode(&text)] {
                    let found = forms.iter().any(|form| encoded.contains(form));
                    assert!(found, "{before} {after} {encoded}");
                }
            }
        }
    }

    #[test]
    fn other_ways_of_writing_are_known() {
        let forms = of("p\u{e4}ss&\"w\u{f6}rd\"".to_owned());
        for form in [
            "p%C3%A4ss%26%22w%C3%B6rd%22",
            "p\u{e4}ss&\\\"w\u{f6}rd\\\"",
            "p\\u00e4ss&\\\"w\\u00f6rd\\\"",
            "p\\\\u00e4ss&\\\\\\\"w\\\\u00f6rd\\\\\\\"",
            "p\u{e4}ss&amp;&quot;w\u{f6}rd&quot;",
            "70c3a4737326",
            "70C3A4737326",
        ] {
            assert!(forms.iter().any(|one| one.starts_with(form)), "{form} {forms:?}");
        }
        assert_eq!(of("abcd".to_owned()), ["61626364", "abcd"]);
    }
}
