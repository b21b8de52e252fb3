//! What the user is told at the end.

use serde_json::Value;

use super::{choice::Chosen, search::Search};
use crate::policy::Action;

/// Ends with these words, and with the result where there is one.
pub(super) fn finish(text: String, data: Option<Value>) -> Action {
    Action::Finish { text, data }
}

/// The tools are not there.
pub(super) fn no_tools(why: &str) -> String {
    format!("I cannot look for other agents, because I do not have the tools for it: {why}")
}

/// The search itself failed.
pub(super) fn no_search(why: &str) -> String {
    format!("I cannot look for sites that may help: {why}")
}

/// Nobody offers what was asked for.
pub(super) fn none_suitable(search: &Search<'_>) -> String {
    let mut text = "I could not find a specialised automated service for your request.".to_owned();
    for site in search.asked() {
        let why = match site.answer["status"].as_str() {
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

/// What came of a call. `said` is what the tool answered where that has no status.
pub(super) fn outcome(chosen: &Chosen, outcome: &Value, said: &str) -> String {
    let agent = format!("the {} ({})", chosen.agent, chosen.base_url);
    match outcome["status"].as_str() {
        Some("success") => format!("I asked {agent}. {}", answer(outcome)),
        Some("auth_required") => format!(
            "I found {agent}, but it wants credentials that I do not have: {}",
            outcome["text"].as_str().unwrap_or("it does not say which")
        ),
        Some("not_found") => format!("I found {agent}, but it is not there any more."),
        Some(_) => format!(
            "I found {agent}, but it could not help: {}",
            reason(outcome)
        ),
        None => format!("I found {agent}, but it could not help: {said}"),
    }
}

/// The agent's words, and what its result says beside them.
fn answer(outcome: &Value) -> String {
    let text = outcome["text"].as_str().unwrap_or_default();
    let result = outcome["result_data"].as_object().into_iter().flatten();
    let facts = result.filter_map(|(name, value)| {
        let told = match value {
            Value::String(told) => told.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        let is_news = !value.is_boolean() && !text.contains(&told);
        is_news.then(|| format!("{}: {told}", name.replace('_', " ")))
    });
    let facts: Vec<String> = facts.collect();
    match (text.is_empty(), facts.is_empty()) {
        (false, true) => text.to_owned(),
        (true, true) => "It answered without a word.".to_owned(),
        (_, false) => format!("{text} ({})", facts.join(", "))
            .trim_start()
            .to_owned(),
    }
}

fn reason(answer: &Value) -> &str {
    answer["error"].as_str().unwrap_or("it does not say why")
}
