//! Differences between servers of the same API, learned from the errors with which they reject requests.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
};

use bridge_program::lock;
use serde_json::json;

use super::{chat::ToolDefinition, error::ModelError, settings::LIMIT_FIELDS};

/// The learned differences of one server, shared by all conversations with it.
#[derive(Debug, Default)]
pub(super) struct ServerQuirks {
    other_limit: AtomicBool,
    /// Whether an answer was cut at [`OUTPUT_TOKENS`].
    needs_more_output: AtomicBool,
    no_more_output: AtomicBool,
    no_reasoning: AtomicBool,
    no_encrypted: AtomicBool,
    /// The largest length of a tool's description in characters; 0 if none is known.
    longest_description: AtomicUsize,
    /// The largest number of tools; 0 if none is known.
    most_tools: AtomicUsize,
    /// The names of tools whose schemas were rejected.
    rejected_schemas: Mutex<BTreeSet<String>>,
}

/// The limit of an answer that every model accepts.
const OUTPUT_TOKENS: u64 = 4096;

/// The limit for models that think for longer than [`OUTPUT_TOKENS`] before they answer.
const MORE_OUTPUT_TOKENS: u64 = 16_384;

/// The mark at the end of a description that was cut.
const CUT: &str = " [..]";

impl ServerQuirks {
    /// Returns the member that limits the output of chat completions: the configured one, unless the server
    /// rejected it.
    pub(super) fn limit_field(&self, set: &'static str) -> &'static str {
        let is_rejected = self.other_limit.load(Relaxed);
        LIMIT_FIELDS.into_iter().find(|field| (*field == set) != is_rejected).unwrap_or(set)
    }

    /// Returns the limit of an answer in tokens: the configured one, or one that suits the model.
    pub(super) fn output_limit(&self, set: Option<u64>) -> u64 {
        let has_more = self.needs_more_output.load(Relaxed) && !self.no_more_output.load(Relaxed);
        set.unwrap_or(if has_more { MORE_OUTPUT_TOKENS } else { OUTPUT_TOKENS })
    }

    /// Records that an answer was cut at its limit, so that the next ones may be longer.
    pub(super) fn record_cut(&self) {
        self.needs_more_output.store(true, Relaxed);
    }

    /// Returns whether an error may mean that the model or its context is too small for the higher limit, which is then not
    /// used again.
    pub(super) fn learn_output_limit(&self, error: &ModelError) -> bool {
        let ModelError::Refused { status: 400 | 413 | 422, message, .. } = error else {
            return false;
        };
        self.needs_more_output.load(Relaxed)
            && message.to_ascii_lowercase().contains("token")
            && !self.no_more_output.swap(true, Relaxed)
    }

    /// Returns whether a model's reasoning may be sent back in chat completions.
    pub(super) fn takes_reasoning(&self) -> bool {
        !self.no_reasoning.load(Relaxed)
    }

    /// Returns whether the responses API can return encrypted reasoning.
    pub(super) fn gives_encrypted_reasoning(&self) -> bool {
        !self.no_encrypted.load(Relaxed)
    }

    /// Returns a tool as the server takes it: with its schema as text if the server rejected it, and with a description
    /// of the accepted length.
    pub(super) fn accepted<'a>(&self, tool: &'a ToolDefinition) -> Cow<'a, ToolDefinition> {
        let mut tool = Cow::Borrowed(tool);
        if lock(&self.rejected_schemas).contains(&tool.name) {
            let open = json!({"type": "object", "properties": {}});
            let schema = std::mem::replace(&mut tool.to_mut().parameters, open);
            let said = format!(" Its arguments must fit the JSON Schema {schema}.");
            tool.to_mut().description.push_str(&said);
        }
        let longest = self.longest_description.load(Relaxed);
        if longest > 0 && tool.description.chars().count() > longest {
            let kept = tool.description.chars().take(longest.saturating_sub(CUT.len()));
            tool.to_mut().description = kept.chain(CUT.chars()).take(longest).collect();
        }
        tool
    }

    /// Returns the tools of a request, as many as the server takes: the agent's own are the first ones, and the last one is for
    /// waiting.
    pub(super) fn fitting<'a>(
        &self,
        tools: &'a [ToolDefinition],
    ) -> impl Iterator<Item = &'a ToolDefinition> {
        let most = match self.most_tools.load(Relaxed) {
            0 => tools.len(),
            most => most,
        };
        let (first, last) = tools.split_at(tools.len().saturating_sub(1));
        first.iter().take(most.saturating_sub(last.len())).chain(last)
    }

    /// Learns from an error; returns whether it contained anything new, so that a retry may succeed.
    pub(super) fn learn(&self, error: &ModelError, set: &'static str) -> bool {
        let ModelError::Refused { status: 400 | 422, message, .. } = error else {
            return false;
        };
        if let Some(tool) = rejected_schema(message) {
            return lock(&self.rejected_schemas).insert(tool.to_owned());
        }
        let message = message.to_ascii_lowercase();
        let is_new = |known: &AtomicBool| !known.swap(true, Relaxed);
        if message.contains(self.limit_field(set)) && is_unknown(&message) {
            return is_new(&self.other_limit);
        }
        if let Some(longest) = limit_in(&message, "description'") {
            return self.longest_description.swap(longest, Relaxed) != longest;
        }
        if let Some(most) = limit_in(&message, "'tools': array too long") {
            tracing::warn!(
                most,
                "the model takes no more tools, so the last tools of the server are left out"
            );
            return self.most_tools.swap(most, Relaxed) != most;
        }
        if message.contains("reasoning_content") {
            return is_new(&self.no_reasoning);
        }
        message.contains("encrypted") && is_new(&self.no_encrypted)
    }
}

/// Returns the limit that an error names behind the words `of`. Such errors are "Invalid 'tools[5].function.description': string too
/// long. Expected a string with maximum length 1024, but got a string with length 2357 instead." and "Invalid 'tools': array too
/// long. Expected an array with maximum length 128, but got an array with length 200 instead."
fn limit_in(message: &str, of: &str) -> Option<usize> {
    let (_, limit) = message.split_once(of)?.1.split_once("maximum length ")?;
    let end = limit.find(|c: char| !c.is_ascii_digit()).unwrap_or(limit.len());
    limit[..end].parse().ok().filter(|limit| *limit > 0)
}

/// Returns the tool in an error such as "Invalid schema for function 'read_pdf': True is not of type 'number'."
fn rejected_schema(message: &str) -> Option<&str> {
    let (_, named) = message.split_once("nvalid schema for function '")?;
    named.split_once('\'').map(|(name, _)| name)
}

/// Returns whether an error says that a member is unknown, and not that its value is invalid.
fn is_unknown(message: &str) -> bool {
    const WORDS: [&str; 6] = [
        "unsupported parameter",
        "not supported",
        "unrecognized",
        "unknown",
        "extra inputs",
        "instead",
    ];
    WORDS.iter().any(|word| message.contains(word))
}

/// Returns whether the images may be the reason for a rejection. Servers of models that cannot see word it in many ways, such as
/// "messages[2].content must be a string", and some take it for a failure of their own.
pub(super) fn is_refusal_of_images(error: &ModelError) -> bool {
    match error {
        ModelError::Refused { status, .. } => matches!(status, 400 | 404 | 413 | 415 | 422),
        ModelError::GaveUp { message, .. } => message.to_ascii_lowercase().contains("image"),
        _ => false,
    }
}

/// Returns whether an error says that the conversation exceeds the model's context.
pub(super) fn is_overflow(error: &ModelError) -> bool {
    const WORDS: [&str; 9] = [
        "context length",
        "context window",
        "context size",
        "context limit",
        "context_length",
        "prompt is too long",
        "input token count",
        "too many tokens",
        "input is too long",
    ];
    match error {
        ModelError::Refused { status: 413, .. } => true,
        ModelError::Refused { status: 400 | 422, message, .. } => {
            let message = message.to_ascii_lowercase();
            WORDS.iter().any(|word| message.contains(word))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(message: &str) -> ModelError {
        ModelError::Refused {
            url: "http://model".to_owned(),
            status: 400,
            message: message.to_owned(),
        }
    }

    fn tool(description: &str) -> ToolDefinition {
        let parameters = json!({"type": "object"});
        ToolDefinition { name: "look".to_owned(), description: description.to_owned(), parameters }
    }

    #[test]
    fn a_refusal_of_the_limits_name_is_learnt_once() {
        let quirks = ServerQuirks::default();
        let set = LIMIT_FIELDS[0];
        let too_large =
            refused("max_tokens is too large: 9. This model allows 5 completion tokens");
        assert!(!quirks.learn(&too_large, set));
        let wrong = refused(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        );
        assert_eq!(quirks.limit_field(set), "max_tokens");
        assert!(quirks.learn(&wrong, set));
        assert_eq!(quirks.limit_field(set), "max_completion_tokens");
        assert!(!quirks.learn(&refused("max_completion_tokens: unknown"), set));
    }

    #[test]
    fn descriptions_are_cut_to_the_length_that_a_refusal_names() {
        let quirks = ServerQuirks::default();
        let set = LIMIT_FIELDS[0];
        let too_long = refused(
            "Invalid 'tools[5].function.description': string too long. Expected a string with maximum length 10, but got a string with length 12 instead.",
        );
        let described = |text: &str| quirks.accepted(&tool(text)).description.clone();
        assert_eq!(described("éverything is"), "éverything is");
        assert!(quirks.learn(&too_long, set));
        assert_eq!(described("éverything is"), "évery [..]");
        assert_eq!(described("éverything"), "éverything");
        assert!(!quirks.learn(&too_long, set), "the same refusal again is no news");
    }

    #[test]
    fn tools_beyond_the_number_that_a_refusal_names_are_left_out() {
        let quirks = ServerQuirks::default();
        let error = "Invalid 'tools': array too long. Expected an array with maximum length 3, but got an array with length 5 instead.";
        let tools = ["own", "a", "b", "c", "wait"].map(tool);
        let fitting = |tools: &[ToolDefinition]| {
            let fitting = quirks.fitting(tools).map(|tool| tool.description.clone());
            fitting.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(fitting(&tools), "own a b c wait");
        assert!(quirks.learn(&refused(error), LIMIT_FIELDS[0]));
        assert_eq!(fitting(&tools), "own a wait");
        assert_eq!((fitting(&tools[..1]), fitting(&[])), ("own".to_owned(), String::new()));
        assert!(!quirks.learn(&refused(error), LIMIT_FIELDS[0]), "nothing is left to change");
    }

    #[test]
    fn a_schema_that_is_refused_is_told_as_text() {
        let quirks = ServerQuirks::default();
        let error = "Invalid schema for function 'look': In context=('properties', 'a'), array schema missing items.";
        assert!(quirks.learn(&refused(error), LIMIT_FIELDS[0]));
        let tool = tool("Looks.");
        let accepted = quirks.accepted(&tool);
        assert_eq!(accepted.parameters, json!({"type": "object", "properties": {}}));
        let said = "Looks. Its arguments must fit the JSON Schema {\"type\":\"object\"}.";
        assert_eq!(accepted.description, said);
        assert!(!quirks.learn(&refused(error), LIMIT_FIELDS[0]), "nothing is left to change");
    }

    #[test]
    fn a_context_that_is_too_small_differs_from_other_refusals() {
        for message in [
            "This model's maximum context length is 8192 tokens.",
            "prompt is too long: 210000 tokens > 200000 maximum",
            "The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).",
            "Your input exceeds the context window of this model.",
        ] {
            assert!(is_overflow(&refused(message)), "{message}");
        }
        assert!(!is_overflow(&refused("invalid tool schema")));
    }
}
