//! Splits a request of the usual form into its members, so that the parameters are parsed once the method is known.

use crate::wire::weight::after_text;

/// The members of a request as text: each once, and no others. Each member may still be invalid JSON.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Envelope<'b> {
    pub(super) jsonrpc: Option<&'b [u8]>,
    pub(super) id: Option<&'b [u8]>,
    pub(super) method: Option<&'b [u8]>,
    pub(super) params: Option<&'b [u8]>,
}

impl<'b> Envelope<'b> {
    /// Returns the members of a body; `None` if it has another form, or none.
    pub(super) fn of(body: &'b [u8]) -> Option<Self> {
        let (mut members, mut envelope) = (Members { body, at: 0 }, Self::default());
        members.take(b'{')?;
        loop {
            let (name, value) = members.member()?;
            let member = match name {
                b"\"jsonrpc\"" => &mut envelope.jsonrpc,
                b"\"id\"" => &mut envelope.id,
                b"\"method\"" => &mut envelope.method,
                b"\"params\"" => &mut envelope.params,
                _ => return None,
            };
            if member.replace(value).is_some() {
                return None;
            }
            if members.take(b',').is_none() {
                break;
            }
        }
        members.take(b'}')?;
        members.skip_space();
        (members.at == body.len()).then_some(envelope)
    }
}

/// The members of an object that are not read yet.
struct Members<'b> {
    body: &'b [u8],
    at: usize,
}

impl<'b> Members<'b> {
    /// Reads a name and its value.
    fn member(&mut self) -> Option<(&'b [u8], &'b [u8])> {
        let name = self.value()?;
        self.take(b':')?;
        Some((name, self.value()?))
    }

    /// Reads a value, of which only the brackets are matched.
    fn value(&mut self) -> Option<&'b [u8]> {
        self.skip_space();
        let (begin, mut depth) = (self.at, 0_usize);
        loop {
            match self.body.get(self.at)? {
                b'"' => self.at = after_text(self.body, self.at + 1),
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' if depth > 0 => {
                    depth -= 1;
                    self.at += 1;
                }
                _ if depth > 0 => self.at += 1,
                _ => self.skip_word(),
            }
            if depth == 0 {
                return (self.at > begin).then(|| &self.body[begin..self.at]);
            }
        }
    }

    /// Skips a number, `true`, `false` or `null`.
    fn skip_word(&mut self) {
        let is_of_word =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        while self.body.get(self.at).is_some_and(is_of_word) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        self.skip_space();
        (*self.body.get(self.at)? == byte).then(|| self.at += 1)
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.body.get(self.at) {
            self.at += 1;
        }
    }
}

/// Returns the content of a text in JSON that has no escapes.
pub(super) fn text_without_escapes(json: &[u8]) -> Option<&str> {
    let [b'"', text @ .., b'"'] = json else {
        return None;
    };
    let is_plain = text.iter().all(|byte| *byte >= b' ' && *byte != b'\\' && *byte != b'"');
    str::from_utf8(text).ok().filter(|_| is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_the_text_that_they_were() {
        let body =
            br#" { "id" : 1e3 , "params":{"a":["}",{}]} ,"jsonrpc":"2.0","method":"a\"b" } "#;
        let expected = Envelope {
            jsonrpc: Some(b"\"2.0\""),
            id: Some(b"1e3"),
            method: Some(br#""a\"b""#),
            params: Some(br#"{"a":["}",{}]}"#),
        };
        assert_eq!(Envelope::of(body), Some(expected));
    }

    #[test]
    fn another_form_has_no_members() {
        for body in [
            "",
            "{",
            "{}",
            "[]",
            "{\"id\"}",
            "{\"id\":}",
            "{\"id\":1",
            "{\"id\":1,}",
            "{\"id\":1}x",
            "{\"id\":1 2}",
            "{\"id\":\"}",
            "{\"id\":[}",
            "{\"id\":]}",
            "{id:1}",
            "{\"id\":1,\"id\":1}",
            "{\"more\":1}",
            "{\"i\\u0064\":1}",
        ] {
            assert_eq!(Envelope::of(body.as_bytes()), None, "{body}");
        }
    }
}
