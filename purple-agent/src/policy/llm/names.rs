//! Tool names that models accept: at most 64 letters, digits, `_` and `-`, and no digit or `-` at the beginning, which
//! Gemini rejects. MCP allows more.

use std::collections::BTreeMap;

use super::pending::WAIT;
use crate::toolbox::Offered;

const MAX_LENGTH: usize = 64;

/// Maps the names that a model uses to tools.
#[derive(Debug, Default)]
pub(super) struct ModelNames {
    /// The tool's name by the name for the model.
    tools: BTreeMap<String, String>,
}

impl ModelNames {
    /// Creates distinct names for these tools.
    pub(super) fn of(tools: &[Offered]) -> Self {
        let mut names = Self::default();
        for offered in tools {
            names.add(&offered.tool.name);
        }
        names
    }

    fn add(&mut self, tool: &str) {
        let plain = plain(tool);
        let numbered = (2..).map(|number: usize| {
            let ending = format!("_{number}");
            format!("{:.*}{ending}", MAX_LENGTH - ending.len(), plain)
        });
        let mut candidates = std::iter::once(plain.clone()).chain(numbered);
        let is_free = |name: &String| name != WAIT && !self.tools.contains_key(name);
        if let Some(free) = candidates.find(is_free) {
            self.tools.insert(free, tool.to_owned());
        }
    }

    pub(super) fn for_model(&self, tool: &str) -> String {
        let known = self.tools.iter().find(|(_, name)| *name == tool);
        known.map_or_else(|| plain(tool), |(name, _)| name.clone())
    }

    /// Returns the tool's name; an unknown name is returned unchanged, and its call then fails with a list of the
    /// valid names.
    pub(super) fn for_tool(&self, shown: &str) -> String {
        self.tools.get(shown).cloned().unwrap_or_else(|| shown.to_owned())
    }
}

fn plain(tool: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let is_rejected = tool.is_empty() || tool.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    let first = is_rejected.then_some('_');
    first.into_iter().chain(tool.chars().map(allowed)).take(MAX_LENGTH).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toolbox::Origin;
    use rmcp::model::{JsonObject, Tool};

    fn offered(name: &str) -> Offered {
        Offered { tool: Tool::new(name.to_owned(), "", JsonObject::new()), origin: Origin::Server }
    }

    #[test]
    fn names_are_made_plain_and_told_apart() {
        let long = "x".repeat(80);
        let further = format!("{long}y");
        let tools = ["a.b", "a/b", "plain", &long, &further, "3d", "", WAIT].map(offered);
        let names = ModelNames::of(&tools);
        let shown: Vec<_> = tools.iter().map(|one| names.for_model(&one.tool.name)).collect();
        assert_eq!(shown[..3], ["a_b", "a_b_2", "plain"]);
        assert_eq!(shown[3], "x".repeat(64));
        assert_eq!(shown[4], format!("{}_2", "x".repeat(62)));
        assert_eq!(shown[5..], ["_3d", "_", "wait_for_message_2"]);
        for (tool, shown) in tools.iter().zip(&shown) {
            assert_eq!(names.for_tool(shown), tool.tool.name);
        }
        assert_eq!(names.for_tool("never shown"), "never shown");
    }
}
