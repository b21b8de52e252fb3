//! The images that a model is shown: those of its user's messages, and the newest ones of tool results.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use mcp_tools::inbox::parts;
use serde_json::Value;

use super::chat::Entry;

/// The types that all providers accept.
const TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

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
    /// Returns an image that providers accept; `None` if they would not.
    pub(super) fn accepted(media_type: &str, data: &str) -> Option<Self> {
        let is_known = TYPES.contains(&media_type) && data.len() <= MAX_IMAGE;
        // A provider would reject the whole conversation because of one image that is not base64.
        let is_valid = is_known && STANDARD.decode(data).is_ok_and(|bytes| !bytes.is_empty());
        is_valid.then(|| Self { media_type: media_type.to_owned(), data: data.to_owned() })
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
                text.push_str(&format!("\n{}", hidden(&image.media_type)));
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

    fn image(data: &str) -> Image {
        Image::accepted("image/png", data).unwrap()
    }

    fn result(images: &[&str]) -> Entry {
        let images: Vec<Image> = images.iter().map(|data| image(data)).collect();
        let text = vec![shown("image/png"); images.len()].join("\n");
        Entry::Results(vec![ToolResult { text, images, ..ToolResult::default() }])
    }

    #[test]
    fn only_images_that_all_providers_accept_are_shown() {
        for (media_type, data, is_accepted) in [
            ("image/png", "AAAA", true),
            ("image/svg+xml", "AAAA", false),
            ("image/png", "", false),
            ("image/png", "***", false),
            ("image/jpeg", &"A".repeat(MAX_IMAGE + 4), false),
        ] {
            assert_eq!(Image::accepted(media_type, data).is_some(), is_accepted, "{media_type}");
        }
        let parts = json!({"parts": [{"text": "Which?"}, {"raw": "AAAA", "mediaType": "image/webp"}, {"raw": "AAAA"}]});
        assert_eq!(Image::of_message(&parts).len(), 1);
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
        assert_eq!((count(&entries), bytes(&entries)), (3, 12));
        assert!(remove_all(&mut entries));
        assert!(!remove_all(&mut entries));
        let asked = "Which?\n[an image of type image/png, not shown]".to_owned();
        assert_eq!(entries[0], Entry::User { text: asked, images: Vec::new() });
    }
}
