//! Reads a message to the evaluator: checks that it asks for an evaluation, and in which environment.

use std::sync::LazyLock;

use bridge_protocol::a2a::{Content, Message};
use mcp_tools::environments::BUILTINS;
use regex::Regex;
use serde_json::Value;

/// A sentence that asks for an evaluation.
static WISH: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let words = r"(?i)\b(evaluat\w*|assess\w*|ready|benchmark\w*|begin|start|episode|test me)\b";
    Regex::new(words).ok()
});

/// A sentence that names an environment: `the environment "shop"`, `environment: shop`.
static NAMED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?i)\benvironment\s*[:=]?\s*["'`]([\w.-]+)["'`]"#).ok());

/// The members of a data part that name an environment.
const MEMBERS: [&str; 3] = ["environment", "benchmark", "task_id"];

/// Checks that a message asks for an evaluation in this environment.
///
/// # Errors
/// If it asks for something else; the text describes the offered evaluation.
pub(super) fn check(message: &Message, environment: &str) -> Result<(), String> {
    let has = format!("this evaluator has the environment {environment:?}");
    let content = MessageContent::of(message);
    if let Some(other) = content.other_environment(environment) {
        return Err(format!("{has}, and not {other:?}"));
    }
    let is_wish = WISH.as_ref().is_some_and(|request| request.is_match(&content.words));
    match is_wish || content.names_one || names(&content.words, environment) {
        true => Ok(()),
        false => Err(format!(
            "{has}; say \"ready for evaluation\" to be evaluated in it, or send {{\"participants\": {{ROLE: URL}}}}"
        )),
    }
}

/// The content of a message, as text and as data.
#[derive(Default)]
struct MessageContent {
    words: String,
    environments: Vec<String>,
    names_one: bool,
}

impl MessageContent {
    fn of(message: &Message) -> Self {
        let mut content = Self::default();
        for part in &message.parts {
            match &part.content {
                Content::Text(text) => match serde_json::from_str(text) {
                    Ok(data @ Value::Object(_)) => content.read(&data),
                    Ok(_) | Err(_) => content.words.extend([text, "\n"]),
                },
                Content::Data(data) => content.read(data),
                Content::Raw(_) | Content::Url(_) | Content::Unknown => {}
            }
        }
        let named = NAMED.as_ref().map(|named| named.captures_iter(&content.words));
        let named = named.into_iter().flatten().map(|found| found[1].to_owned());
        content.environments.extend(named.collect::<Vec<_>>());
        content
    }

    fn read(&mut self, data: &Value) {
        let named = MEMBERS.iter().filter_map(|name| data.get(name)?.as_str());
        self.environments.extend(named.map(str::to_owned));
        self.names_one |= MEMBERS.iter().any(|name| data.get(name).is_some());
        self.words.push_str(&data.to_string());
    }

    /// Returns another environment that the message asks for: any by its quoted name, or a built-in one
    /// mentioned in a sentence.
    fn other_environment(&self, environment: &str) -> Option<&str> {
        let is_other = |name: &&String| name.split(['.', '/']).next() != Some(environment);
        let named = self.environments.iter().find(is_other).map(String::as_str);
        named.or_else(|| {
            let mut others = BUILTINS.iter().map(|(name, _)| *name);
            let is_meant = |name: &&str| *name != environment && names(&self.words, name);
            others.find(is_meant).filter(|_| !names(&self.words, environment))
        })
    }
}

/// Returns whether a text contains a name as a whole word.
fn names(text: &str, name: &str) -> bool {
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'));
    words.into_iter().any(|word| word.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use bridge_protocol::a2a::{Part, Role};
    use serde_json::json;

    use super::*;

    fn checked(part: Part) -> Result<(), String> {
        check(&Message::new("m", Role::User, vec![part]), "sum")
    }

    #[test]
    fn requests_for_known_environments_are_served() {
        for part in [
            Part::text("ready for evaluation"),
            Part::text("Please assess me in the environment \"sum\"."),
            Part::text("sum"),
            Part::data(json!({"environment": "sum"})),
            Part::data(json!({"type": "ready"})),
            Part::text(json!({"task_id": "sum.numbers", "benchmark": "sum"}).to_string()),
        ] {
            assert_eq!(checked(part.clone()), Ok(()), "{part:?}");
        }
    }

    #[test]
    fn requests_for_unknown_environments_get_the_known_ones() {
        for (part, expected) in [
            (Part::text("what is the weather?"), "; say \"ready for evaluation\""),
            (Part::text(""), "; say \"ready for evaluation\""),
            (Part::data(json!({"city": "Paris"})), "; say \"ready for evaluation\""),
            (Part::text("evaluate me in shop"), ", and not \"shop\""),
            (
                Part::text("ready for evaluation in the environment 'miniwob'"),
                ", and not \"miniwob\"",
            ),
            (
                Part::data(json!({"task_id": "miniwob.click", "benchmark": "miniwob"})),
                ", and not \"miniwob\"",
            ),
        ] {
            let error = checked(part).unwrap_err();
            let start = format!("this evaluator has the environment \"sum\"{expected}");
            assert!(error.starts_with(&start), "{error}");
        }
    }
}
