//! The images that a model is shown: those of its user's messages, and the newest ones of tool results.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use mcp_tools::inbox::parts;
use serde_json::Value;

use super::chat::Entry;

/// The types that all providers accept, each with the first bytes of its files.
const TYPES: [(&str, &[u8]); 4] = [
    ("image/png", b"\x89PNG\r\n\x1a\n"),
    ("image/jpeg", b"\xff\xd8\xff"),
    ("image/gif", b"GIF8"),
    ("image/webp", b"RIFF"),
];

/// The largest image in bytes of base64: Anthropic accepts no larger ones.
const MAX_IMAGE: usize = 5 << 20;

/// The estimated cost of an image in tokens: of about 1000 by 1000 pixels at most providers.
pub(super) const TOKENS: usize = 1500;

/// An image.
#[derive(Clone, PartialEq)]
pub(super) struct Image {
    pub(super) media_type: String,
    /// The bytes in base64.
    pub(super) data: String,
}

impl Image {
    /// Returns an image that providers accept; `None` if they would not. The type is that of the bytes: providers reject the whole
    /// conversation because of one image that is of another type than it says.
    pub(super) fn accepted(media_type: &str, data: &str) -> Option<Self> {
        if !media_type.starts_with("image/") || data.len() > MAX_IMAGE {
            return None;
        }
        let bytes = STANDARD.decode(data).ok()?;
        let (media_type, _) = TYPES.iter().find(|(_, begin)| bytes.starts_with(begin))?;
        Some(Self { media_type: (*media_type).to_owned(), data: data.to_owned() })
    }

    /// Returns the images in the parts of an A2A message.
    pub(super) fn of_message(message: &Value) -> Vec<Self> {
        let image =
            |part: &Value| Self::accepted(part["mediaType"].as_str()?, part["raw"].as_str()?);
        parts(message).filter_map(image).collect()
    }

    /// Returns the data URL, as OpenAI's APIs take images.
    pub(super) fn url(&self) -> String {
        format!("data:{};base64,{}", self.media_type, self.data)
    }
}

/// The bytes of an image are of no use to a reader.
impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Image({}, {} bytes)", self.media_type, self.data.len())
    }
}

/// Returns the mark of an image in the text of a result.
pub(super) fn shown(media_type: &str) -> String {
    format!("[an image of type {media_type}]")
}

/// Returns the mark of an image that the model does not see.
pub(super) fn hidden(media_type: &str) -> String {
    format!("[an image of type {media_type}, not shown]")
}

/// Removes all but the newest images of tool results: each is sent with every later request, and shows a state that has passed.
pub(super) fn keep_newest(entries: &mut [Entry], newest: usize) {
    let mut left = newest;
    for entry in entries.iter_mut().rev() {
        let Entry::Results(results) = entry else {
            continue;
        };
        for result in results.iter_mut().rev() {
            let removed = result.images.len().saturating_sub(left);
            left -= result.images.len() - removed;
            for image in result.images.drain(..removed) {
                let kind = &image.media_type;
                result.text = result.text.replacen(&shown(kind), &hidden(kind), 1);
            }
        }
    }
}

/// Removes all images; returns whether there were any.
pub(super) fn remove_all(entries: &mut [Entry]) -> bool {
    let had = count(entries) > 0;
    keep_newest(entries, 0);
    for entry in entries {
        if let Entry::User { text, images } = entry {
            for image in images.drain(..) {
                let (mark, replaced) = (shown(&image.media_type), hidden(&image.media_type));
                match text.contains(&mark) {
                    true => *text = text.replacen(&mark, &replaced, 1),
                    false => text.push_str(&format!("\n{replaced}")),
                }
            }
        }
    }
    had
}

/// Returns the number of images in a conversation.
pub(super) fn count(entries: &[Entry]) -> usize {
    of(entries).count()
}

/// Returns the size of all images in base64.
pub(super) fn bytes(entries: &[Entry]) -> usize {
    of(entries).map(|image| image.data.len()).sum()
}

fn of(entries: &[Entry]) -> impl Iterator<Item = &Image> {
    entries.iter().flat_map(|entry| -> Box<dyn Iterator<Item = &Image>> {
        match entry {
            Entry::User { images, .. } => Box::new(images.iter()),
            Entry::Results(results) => Box::new(results.iter().flat_map(|result| &result.images)),
            Entry::Assistant(_) => Box::new(std::iter::empty()),
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::policy::llm::{
        anthropic, chat::ToolResult, gemini, openai, quirks::ServerQuirks, responses,
        settings::LlmSettings,
    };

    /// Returns the beginning of a picture in PNG, with these further characters of base64.
    fn png(further: &str) -> String {
        format!("iVBORw0KGgoA{further}")
    }

    fn image(further: &str) -> Image {
        Image::accepted("image/png", &png(further)).unwrap()
    }

    fn result(images: &[&str]) -> Entry {
        let images: Vec<Image> = images.iter().map(|data| image(data)).collect();
        let text = vec![shown("image/png"); images.len()].join("\n");
        Entry::Results(vec![ToolResult { text, images, ..ToolResult::default() }])
    }

    #[test]
    fn only_images_that_all_providers_accept_are_shown() {
        for (media_type, data, expected) in [
            ("image/png", &*png("AAAA"), Some("image/png")),
            ("image/jpeg", &png("AAAA"), Some("image/png")),
            ("image/png", "/9j/4AAQ", Some("image/jpeg")),
            ("image/svg+xml", "PHN2Zz48", None),
            ("image/png", "", None),
            ("image/png", "***", None),
            ("application/pdf", &png("AAAA"), None),
            ("image/png", &png(&"A".repeat(MAX_IMAGE)), None),
        ] {
            let accepted = Image::accepted(media_type, data).map(|image| image.media_type);
            assert_eq!(accepted.as_deref(), expected, "{media_type}");
        }
        let raw = png("AAAA");
        let parts =
            json!([{"text": "Which?"}, {"raw": raw, "mediaType": "image/png"}, {"raw": raw}]);
        assert_eq!(Image::of_message(&json!({"parts": parts})).len(), 1);
    }

    #[test]
    fn each_api_gets_images_in_its_own_form() {
        let user = Entry::User { text: "Which?".to_owned(), images: vec![image("AAAA")] };
        let result = ToolResult {
            id: "c".to_owned(),
            name: "look".to_owned(),
            text: "seen".to_owned(),
            images: vec![image("BBBB")],
            failed: false,
        };
        let entries = [user, Entry::Assistant(json!([])), Entry::Results(vec![result])];
        let settings = LlmSettings::read(&json!({"model": "m", "base_url": "http://h"}), &|_| None);
        let (settings, quirks) = (settings.unwrap(), ServerQuirks::default());
        insta::assert_json_snapshot!(json!({
            "openai": openai::request(&settings, &quirks, "", &entries, &[])["messages"],
            "openai-responses": responses::request(&settings, &quirks, "", &entries, &[])["input"],
            "anthropic": anthropic::request(&settings, 1, "", &entries, &[])["messages"],
            "gemini": gemini::request(1, "", &entries, &[])["contents"],
        }));
    }

    #[test]
    fn the_newest_images_stay_and_the_user_s() {
        let user = Entry::User { text: "Which?".to_owned(), images: vec![image("AAAA")] };
        let mut entries = vec![user, result(&["AAAA", "BBBB"]), result(&["CCCC"])];
        keep_newest(&mut entries, 2);
        let Entry::Results(results) = &entries[1] else { panic!("{entries:?}") };
        assert_eq!(results[0].images, [image("BBBB")]);
        assert_eq!(
            results[0].text,
            "[an image of type image/png, not shown]\n[an image of type image/png]"
        );
        assert_eq!((count(&entries), bytes(&entries)), (3, 48));
        assert!(remove_all(&mut entries));
        assert!(!remove_all(&mut entries));
        let asked = "Which?\n[an image of type image/png, not shown]".to_owned();
        assert_eq!(entries[0], Entry::text(asked));
        let text = shown("image/png");
        let mut silent = [Entry::User { text, images: vec![image("AAAA")] }];
        assert!(remove_all(&mut silent));
        assert_eq!(silent, [Entry::text(hidden("image/png"))]);
    }
}
