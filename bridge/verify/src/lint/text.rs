//! Reports placeholders, characters that control terminals, and duplicate members, which readers treat differently.

use std::collections::BTreeSet;
use std::{cell::RefCell, fmt};

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use super::{Finding, Level, Linter, below};

/// Texts that are shown in one line.
const LINES: [&str; 6] = ["name", "id", "version", "organization", "url", "scheme"];

/// The number of duplicate members reported.
const MOST: usize = 20;

impl Linter<'_> {
    /// Reports a placeholder left over from a template.
    pub(super) fn placeholder(&mut self, text: &str, path: &str) {
        if text.starts_with('<') && text.ends_with('>') {
            let message = format!("{text:?} is a placeholder");
            self.add(Level::Error, "placeholder", path, message, "replace it");
        }
    }

    /// Reports control characters and overrides of the writing direction.
    pub(super) fn characters(&mut self, text: &str, path: &str) {
        let name = path.rsplit('.').next().unwrap_or_default();
        let is_line = LINES.contains(&name);
        if text.chars().any(|one| commands(one, is_line)) {
            let message = format!("{text:?} has characters that control terminals or hide text");
            self.add(Level::Error, "characters", path, message, "leave them out");
        }
    }

    /// Reports a member whose name has control characters or overrides of the writing direction.
    pub(super) fn name_characters(&mut self, name: &str, path: &str) {
        if name.chars().any(|one| commands(one, true)) {
            let message = format!("the name {name:?} has characters that control terminals");
            self.add(Level::Error, "characters", path, message, "leave them out");
        }
    }
}

/// Returns whether a character controls a terminal or reorders the text after it.
fn commands(one: char, is_line: bool) -> bool {
    match one {
        '\n' | '\r' | '\t' => is_line,
        '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        _ => one.is_control(),
    }
}

/// Finds duplicate members of objects. Readers take the first or the last, so that a checked card may differ
/// from the one that is used. Empty if the text is not JSON.
pub fn duplicates(text: &[u8]) -> Vec<Finding> {
    let found = RefCell::new(Vec::new());
    let path = String::new();
    let scan = Scan { path, found: &found };
    // Invalid JSON is reported by the reader of the card.
    let _ = scan.deserialize(&mut serde_json::Deserializer::from_slice(text));
    let paths = found.into_inner().into_iter();
    let finding = |path| Finding {
        level: Level::Error,
        rule: "unique-members",
        path,
        message: "occurs twice: some readers use the first, others the last".to_string(),
        fix: "leave one of them out".to_string(),
    };
    paths.map(finding).collect()
}

/// Visits the value at this path and records its duplicate members.
struct Scan<'a> {
    path: String,
    found: &'a RefCell<Vec<String>>,
}

impl<'de> DeserializeSeed<'de> for Scan<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Scan<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut names = BTreeSet::new();
        while let Some(name) = members.next_key::<String>()? {
            let path = below(&self.path, &name);
            if !names.insert(name) {
                let mut found = self.found.borrow_mut();
                if found.len() == MOST {
                    return Err(A::Error::custom("enough"));
                }
                found.push(path.clone());
            }
            let found = self.found;
            members.next_value_seed(Scan { path, found })?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        for index in 0.. {
            let (path, found) = (format!("{}[{index}]", self.path), self.found);
            if items.next_element_seed(Scan { path, found })?.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicate_members_are_found_with_their_paths() {
        let text = br#"{"a": 1, "b": [{"c": null, "c": true}], "a": "x", "d": {"d": -1.5}}"#;
        let paths: Vec<String> = duplicates(text).into_iter().map(|one| one.path).collect();
        assert_eq!(paths, ["b[0].c", "a"]);
        assert_eq!(duplicates(b"{"), []);
        assert_eq!(duplicates("{\"a\": 1,".repeat(300).as_bytes()), []);
    }
}
