//! The final texts for the user.

use serde_json::{Map, Value};

use super::{
    choice::{self, Chosen},
    name::WantedNames,
    search::SearchProgress,
};

/// Reports that the tools are not available.
pub(super) fn no_tools(why: &str) -> String {
    format!("I cannot look for other agents, because I do not have the tools for it: {why}")
}

/// Reports that the search failed.
pub(super) fn no_search(why: &str) -> String {
    format!("I cannot look for sites that may help: {why}")
}

/// Reports that no suitable agent was found.
pub(super) fn none_suitable(search: &SearchProgress<'_>, wanted: &WantedNames) -> String {
    let agents = search.agents();
    let is_for = |url: &str| {
        let agent = agents.iter().find(|agent| agent.site.starts_with(url));
        agent.is_none_or(|agent| choice::is_for(agent, wanted))
    };
    let name = wanted.first().map_or("", |name| name.text.as_str());
    let mut text = "I could not find a specialised automated service for your request.".to_owned();
    for site in search.asked() {
        let why = match site.answer["status"].as_str() {
            Some("success") if !is_for(&site.url) => {
                format!("its agent does not say that it is there for {name}")
            }
            Some("success") => "its agent has no skill for this".to_owned(),
            Some("not_found") => "it has no agent".to_owned(),
            Some(_) | None => format!("its agent cannot be found: {}", reason(&site.answer)),
        };
        text.push_str(&format!(" I asked {}: {why}.", site.url));
    }
    text.push_str(
        " You could contact the people there yourself, or tell me more about what you need.",
    );
    text
}

/// Reports the result of a call. `said` is the tool's text, for a result without a status.
pub(super) fn outcome(chosen: &Chosen, outcome: &Value, said: &str) -> String {
    let agent = format!("the {} ({})", chosen.agent, chosen.base_url);
    match outcome["status"].as_str() {
        Some("success") => format!("I asked {agent}. {}", answer(outcome)),
        Some("auth_required") => format!(
            "I found {agent}, but it wants credentials that I do not have: {}",
            outcome["text"].as_str().unwrap_or("it does not say which")
        ),
        Some("not_found") => format!("I found {agent}, but it is not there any more."),
        Some(_) => format!("I found {agent}, but it could not help: {}", reason(outcome)),
        None => format!("I found {agent}, but it could not help: {said}"),
    }
}

/// Returns the agent's text, and every field of its result that the text does not mention. Booleans are always
/// added, because a text may mention them without the field's name.
fn answer(outcome: &Value) -> String {
    let text = outcome["text"].as_str().unwrap_or_default();
    let result = match &outcome["result_data"] {
        Value::Object(fields) => fields.clone(),
        Value::Null => Map::new(),
        other => Map::from_iter([("result".to_owned(), other.clone())]),
    };
    let is_news = |value: &Value| match value {
        Value::String(value) => !has_word(text, value),
        Value::Number(value) => !has_word(text, &value.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => true,
    };
    let facts = result.iter().filter(|(_, value)| is_news(value));
    let facts: Vec<String> = facts
        .map(|(name, value)| format!("{}: {}", name.replace('_', " "), as_text(value)))
        .collect();
    match (text.is_empty(), facts.is_empty()) {
        (false, true) => text.to_owned(),
        (true, true) => "It answered without a word.".to_owned(),
        (true, false) => format!("It answered: {}.", facts.join(", ")),
        (false, false) => format!("{text} ({})", facts.join(", ")),
    }
}

/// Formats a value as text.
fn as_text(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(as_text).collect::<Vec<_>>().join(", "),
        Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}

/// Returns whether a text contains these words, and not only as part of longer words.
fn has_word(text: &str, wanted: &str) -> bool {
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let mut found = text.match_indices(wanted);
    !wanted.is_empty()
        && found.any(|(at, _)| {
            let (before, behind) = (&text[..at], &text[at + wanted.len()..]);
            !is_letter(before.chars().next_back()) && !is_letter(behind.chars().next())
        })
}

fn reason(answer: &Value) -> &str {
    answer["error"].as_str().unwrap_or("it does not say why")
}
