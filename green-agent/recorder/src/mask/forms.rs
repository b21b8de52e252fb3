//! The forms in which a secret may be written: in base64, in hexadecimal digits, and as it is, with or without the escapes of URLs,
//! JSON, Python, shells and HTML.

use std::{collections::BTreeSet, iter};

use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use serde_json::Value;
use url::form_urlencoded::byte_serialize;

/// The shortest base64 and hexadecimal form that is looked for: a shorter one would be found in unrelated words.
const SHORTEST: usize = 8;

/// The characters with which escapes begin; a blank may be a plus sign.
pub(super) const ESCAPES: [char; 4] = ['%', '\\', '&', '+'];

/// Returns the forms of a secret without escapes.
pub(super) fn of(secret: &str) -> Vec<String> {
    let written = within_encodings(secret);
    let encoded = written.iter().map(String::as_bytes);
    let encoded = encoded.flat_map(|bytes| base64(bytes).into_iter().chain(hexadecimal(bytes)));
    let mut forms: Vec<String> = encoded.filter(|form| form.len() >= SHORTEST).collect();
    forms.push(secret.to_owned());
    forms.sort_unstable();
    forms.dedup();
    forms
}

/// Returns a secret as it stands in what is encoded: by itself, in JSON, such as that of a cloud's key, or in a form or a query, such as
/// the credentials of an OAuth client.
fn within_encodings(secret: &str) -> BTreeSet<String> {
    let json = Value::from(secret).to_string();
    let json = json[1..json.len() - 1].to_owned();
    let mut units = [0; 2];
    let ascii = json.chars().flat_map(|one| match one.is_ascii() {
        true => vec![one.to_string()],
        false => one.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect(),
    });
    let ascii = ascii.collect();
    let form: String = byte_serialize(secret.as_bytes()).collect();
    let percent = form.replace('+', "%20");
    iter::once(secret.to_owned()).chain([json, ascii, form, percent]).collect()
}

/// Returns patterns that match a secret, or its base64, in which any characters are escaped, even several times, as in JSON within JSON.
/// Text of letters and digits has no pattern, because no program escapes them. Programs differ in which other characters they escape.
pub(super) fn escaped(secret: &str) -> Vec<String> {
    let base64 = base64(secret.as_bytes()).into_iter().filter(|form| form.contains(['+', '/']));
    let forms = iter::once(secret.to_owned()).chain(base64);
    let is_escaped = |form: &String| form.contains(|one: char| !one.is_ascii_alphanumeric());
    forms.filter(is_escaped).map(|form| form.chars().map(written).collect()).collect()
}

/// Returns a pattern that matches a character, unchanged or with any escape.
fn written(one: char) -> String {
    if one.is_ascii_alphanumeric() {
        return one.into();
    }
    let (mut bytes, mut units) = ([0; 4], [0; 2]);
    let bytes = one.encode_utf8(&mut bytes).as_bytes();
    let each_byte = |before: &str| -> String {
        bytes.iter().map(|byte| format!("{before}{}", hex(u32::from(*byte), 2))).collect()
    };
    let units = one.encode_utf16(&mut units).iter();
    let units: String = units.map(|unit| format!(r"\\+u{}", hex(u32::from(*unit), 4))).collect();
    let code = u32::from(one);
    let short = hex(code, 1);
    let mut ways = vec![
        format!(r"\\*{}", regex::escape(one.encode_utf8(&mut [0; 4]))),
        each_byte("%(?:25)*"),
        each_byte(r"\\+x"),
        units,
        format!(r"\\+u\{{0*{short}\}}"),
        format!("&(?:amp;)*#(?:0*{code}|[xX]0*{short});"),
    ];
    ways.extend(special(one).map(str::to_owned));
    format!("(?:{})", ways.join("|"))
}

/// Returns a pattern for the way of writing that only this character has.
fn special(one: char) -> Option<&'static str> {
    Some(match one {
        ' ' => r"\+",
        '\n' => r"\\+n",
        '\r' => r"\\+r",
        '\t' => r"\\+t",
        '"' => "&(?:amp;)*quot;",
        // Shells also close a text in quotes, and open it again.
        '\'' => r"&(?:amp;)*apos;|'\\+''",
        '&' => "&(?:amp;)+",
        '<' => "&(?:amp;)*lt;",
        '>' => "&(?:amp;)*gt;",
        _ => return None,
    })
}

/// Returns a pattern for a number in at least this many hexadecimal digits.
fn hex(number: u32, digits: usize) -> String {
    let either = |digit: char| match digit.is_ascii_digit() {
        true => digit.to_string(),
        false => format!("[{digit}{}]", digit.to_ascii_uppercase()),
    };
    format!("{number:0digits$x}").chars().map(either).collect()
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
    use regex::Regex;

    use super::*;

    #[test]
    fn a_secret_is_found_in_base64_wherever_it_stands() {
        let secret = "s\u{fb}sam\u{ff}e>>key??42";
        let forms = of(secret);
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

    /// Returns whether a text contains one of the secret's forms.
    fn is_found(secret: &str, text: &str) -> bool {
        let forms = of(secret);
        let found = |pattern: String| Regex::new(&pattern).unwrap().is_match(text);
        forms.iter().any(|form| text.contains(form)) || escaped(secret).into_iter().any(found)
    }

    #[test]
    fn escaped_secrets_are_found_whatever_escapes_them() {
        let secret = "p\u{e4}ss&\"w\u{f6}rd\" a/b+c='\u{1f600}\n";
        for (writer, text) in [
            ("a form", "p%C3%A4ss%26%22w%C3%B6rd%22+a%2Fb%2Bc%3D%27%F0%9F%98%80%0A"),
            ("quote in Python", "p%C3%A4ss%26%22w%C3%B6rd%22%20a/b%2Bc%3D%27%F0%9F%98%80%0A"),
            ("JavaScript", "p%C3%A4ss%26%22w%C3%B6rd%22%20a%2Fb%2Bc%3D'%F0%9F%98%80%0A"),
            (".NET", "p%c3%a4ss%26%22w%c3%b6rd%22+a%2fb%2bc%3d%27%f0%9f%98%80%0a"),
            (
                "a query in a query",
                "p%25C3%25A4ss%2526%2522w%25C3%25B6rd%2522%2520a%252Fb%252Bc%253D%2527%25F0%259F%2598%2580%250A",
            ),
            ("json in Python", r#"p\u00e4ss&\"w\u00f6rd\" a/b+c='\ud83d\ude00\n"#),
            ("JSON in Go", "p\u{e4}ss\\u0026\\\"w\u{f6}rd\\\" a/b+c='\u{1f600}\\n"),
            (
                "JSON in .NET",
                r#"p\u00E4ss\u0026\u0022w\u00F6rd\u0022 a/b\u002Bc=\u0027\uD83D\uDE00\n"#,
            ),
            ("JSON in PHP", r#"p\u00e4ss&\"w\u00f6rd\" a\/b+c='\ud83d\ude00\n"#),
            ("JSON in JSON", r#"p\\u00e4ss&\\\"w\\u00f6rd\\\" a/b+c='\\ud83d\\ude00\\n"#),
            ("bytes in Python", r#"p\xc3\xa4ss&"w\xc3\xb6rd" a/b+c=\'\xf0\x9f\x98\x80\n"#),
            ("Rust", r#"p\u{e4}ss&\"w\u{f6}rd\" a/b+c=\'\u{1f600}\n"#),
            ("a shell", "p\u{e4}ss&\"w\u{f6}rd\" a/b+c='\\''\u{1f600}\n"),
            ("HTML", "p\u{e4}ss&amp;&quot;w\u{f6}rd&quot; a/b+c=&#x27;\u{1f600}\n"),
            ("XML", "p&#228;ss&amp;&#34;w&#xF6;rd&#34; a/b+c=&apos;&#128512;\n"),
            (
                "HTML in HTML",
                "p\u{e4}ss&amp;amp;&amp;quot;w\u{f6}rd&amp;quot; a/b+c=&amp;#39;\u{1f600}\n",
            ),
        ] {
            assert!(is_found(secret, text), "{writer}: {text}");
        }
        assert!(!is_found(secret, "p%C3%A4ss%26%22w%C3%B6rd%22"));
    }

    #[test]
    fn a_secret_that_was_escaped_before_it_was_encoded_is_found() {
        let secret = "p\"\u{e4}s s/+\n?key";
        for written in [
            "id:p%22%C3%A4s+s%2F%2B%0A%3Fkey",
            "id:p%22%C3%A4s%20s%2F%2B%0A%3Fkey",
            r#"{"key": "p\"\u00e4s s/+\n?key"}"#,
            "{\"key\":\"p\\\"\u{e4}s s/+\\n?key\"}",
        ] {
            assert!(is_found(secret, &STANDARD.encode(written)), "{written}");
            let digits: String = written.bytes().map(|byte| format!("{byte:02x}")).collect();
            assert!(is_found(secret, &digits), "{written}");
        }
        let encoded = STANDARD.encode("??>>~~??>>");
        let in_query: String = byte_serialize(encoded.as_bytes()).collect();
        assert!(in_query.contains('%') && is_found("??>>~~??>>", &in_query), "{in_query}");
    }

    #[test]
    fn hexadecimal_digits_are_known() {
        assert_eq!(of("abcd"), ["61626364", "abcd"]);
        assert!(is_found("p\u{e4}ss", "70c3a47373") && is_found("p\u{e4}ss", "70C3A47373"));
        assert!(escaped("abcd").is_empty(), "letters and digits are not escaped");
    }
}
