//! The calls whose results a model waits for: each gets exactly one result, in the requested order.

use rmcp::model::{ContentBlock, EmbeddedResource, ResourceContents};
use serde_json::{Value, json};

use super::{
    chat::{Entry, RequestedCall, ToolDefinition, ToolResult},
    compact::truncated,
    image::{self, Image},
    names::ModelNames,
};
use crate::policy::{Action, CompletedCall, Step, ToolCall, observation::text_of};

/// A tool that is offered in addition to the agent's, because a model has no other way to wait.
pub(super) const WAIT: &str = "wait_for_message";

/// The calls in the requested order, each with its result.
#[derive(Debug, Default)]
pub(super) struct Pending(Vec<Slot>);

#[derive(Debug)]
struct Slot {
    /// The result of the call. While the call is open, this is the text that it was not carried out.
    result: ToolResult,
    is_open: bool,
}

/// Returns the description of the tool that waits.
pub(super) fn wait_tool() -> ToolDefinition {
    ToolDefinition {
        name: WAIT.to_owned(),
        description: "Waits until the Green agent has sent another message. Call it alone, when nothing else can be done."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {"missing": {"type": "string", "description": "What you wait for"}},
        }),
    }
}

impl Pending {
    /// Adds the calls of an answer and returns the action, or the error of the last call if none can be executed.
    pub(super) fn take(
        &mut self,
        calls: Vec<RequestedCall>,
        names: &ModelNames,
    ) -> Result<Action, String> {
        let (mut carried, mut missing, mut wrong) = (Vec::new(), None, String::new());
        for call in calls {
            let (id, name) = (call.id.clone(), call.name.clone());
            let (is_open, failed, text) = match call.arguments {
                Err(why) => {
                    wrong.clone_from(&why);
                    (false, true, why)
                }
                Ok(arguments) if call.name == WAIT => {
                    let what = arguments.get("missing").and_then(Value::as_str);
                    missing = Some(what.unwrap_or("another message").to_owned());
                    let told = "messages may have come in; read them with message_history";
                    (false, false, told.to_owned())
                }
                Ok(arguments) => {
                    let name = names.for_tool(&call.name);
                    carried.push(ToolCall { id: call.id, name, arguments });
                    (true, true, "this call was not carried out".to_owned())
                }
            };
            let result = ToolResult { id, name, text, failed, images: Vec::new() };
            self.0.push(Slot { result, is_open });
        }
        match (carried.is_empty(), missing) {
            (false, _) => Ok(Action::Call(carried)),
            (true, Some(missing)) => Ok(Action::Wait { missing }),
            (true, None) => Err(wrong),
        }
    }

    /// Adds the results of executed calls.
    pub(super) fn add_results(&mut self, step: Option<&Step>) {
        for called in step.into_iter().flat_map(|step| &step.called) {
            let open = |slot: &&mut Slot| slot.is_open && slot.result.id == called.call.id;
            if let Some(Slot { result, is_open }) = self.0.iter_mut().find(open) {
                (result.text, result.images) = shown(called);
                (result.failed, *is_open) = (called.failed(), false);
            }
        }
    }

    /// Returns the results for the model, if it waits for any, each limited in bytes.
    pub(super) fn results(&mut self, limit: usize) -> Option<Entry> {
        let results = self.0.drain(..).map(|Slot { result, .. }| result);
        let short = |one: ToolResult| ToolResult { text: truncated(&one.text, limit), ..one };
        let results: Vec<ToolResult> = results.map(short).collect();
        (!results.is_empty()).then_some(Entry::Results(results))
    }
}

/// Returns a result as text for the model, its content, else its data; and its images.
fn shown(called: &CompletedCall) -> (String, Vec<Image>) {
    let mut images = Vec::new();
    let content = called.result.content.iter();
    let blocks: Vec<String> = content.map(|block| block_text(block, &mut images)).collect();
    let text = match (blocks.join("\n"), called.data()) {
        (text, Value::Null) => text,
        (text, _) if !text.is_empty() => text,
        (_, data) => data.to_string(),
    };
    (text, images)
}

/// Returns a content block as text for the model; adds an image that it can see to `images`. What is no text is named, so that
/// the model knows that it is there.
fn block_text(block: &ContentBlock, images: &mut Vec<Image>) -> String {
    if let Some(text) = text_of(block) {
        return text.to_owned();
    }
    match block {
        ContentBlock::Image(content) => match Image::accepted(&content.mime_type, &content.data) {
            Some(accepted) => {
                let mark = image::shown(&accepted.media_type);
                images.push(accepted);
                mark
            }
            None => image::hidden(&content.mime_type),
        },
        ContentBlock::Audio(audio) => format!("[audio of type {}, not played]", audio.mime_type),
        ContentBlock::ResourceLink(link) => format!("[a link to {}: {}]", link.name, link.uri),
        ContentBlock::Resource(EmbeddedResource {
            resource: ResourceContents::BlobResourceContents { uri, mime_type, .. },
            ..
        }) => {
            let kind = mime_type.as_deref().unwrap_or("unknown");
            format!("[the file {uri} of type {kind}, not shown]")
        }
        _ => "[content of an unknown kind, not shown]".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::{CallToolResult, JsonObject};

    fn asked(id: &str, name: &str, arguments: Result<JsonObject, String>) -> RequestedCall {
        let (id, name) = (id.to_owned(), name.to_owned());
        RequestedCall { id, name, arguments }
    }

    fn step(id: &str, text: &str) -> Step {
        let call = ToolCall { id: id.to_owned(), ..ToolCall::new("look", JsonObject::new()) };
        let result = CallToolResult::success(vec![ContentBlock::text(text)]);
        Step { called: vec![CompletedCall { call, result }] }
    }

    fn result(id: &str, name: &str, text: &str, failed: bool) -> ToolResult {
        let [id, name, text] = [id, name, text].map(str::to_owned);
        ToolResult { id, name, text, failed, ..ToolResult::default() }
    }

    #[test]
    fn each_call_gets_one_result_in_order() {
        let mut pending = Pending::default();
        let calls = vec![
            asked("a", "look", Err("no object".to_owned())),
            asked("b", "look", Ok(JsonObject::new())),
            asked("c", WAIT, Ok(JsonObject::new())),
            asked("d", "look", Ok(JsonObject::new())),
        ];
        let action = pending.take(calls, &ModelNames::default()).unwrap();
        let Action::Call(carried) = action else { panic!("{action:?}") };
        assert_eq!(carried.len(), 2);
        pending.add_results(Some(&step("b", "seen")));
        let expected = vec![
            result("a", "look", "no object", true),
            result("b", "look", "seen", false),
            result("c", WAIT, "messages may have come in; read them with message_history", false),
            result("d", "look", "this call was not carried out", true),
        ];
        assert_eq!(pending.results(1000), Some(Entry::Results(expected)));
        assert_eq!(pending.results(1000), None);
    }

    #[test]
    fn a_result_is_its_texts_and_the_names_of_what_is_no_text() {
        let file = json!({"uri": "repo://a.rs", "mimeType": "text/plain", "text": "fn main() {}"});
        let blob = json!({"uri": "repo://a.pdf", "mimeType": "application/pdf", "blob": "AAAA"});
        let result = json!({"content": [
            {"type": "text", "text": "downloaded"},
            {"type": "resource", "resource": file},
            {"type": "resource", "resource": blob},
            {"type": "resource_link", "name": "the log", "uri": "file:///log"},
            {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgoA"},
            {"type": "image", "mimeType": "image/tiff", "data": "AAAA"},
        ]});
        let call = ToolCall::new("look", JsonObject::new());
        let called = CompletedCall { call, result: serde_json::from_value(result).unwrap() };
        assert_eq!(called.text(), "downloaded\nfn main() {}");
        let expected = "downloaded\nfn main() {}\n[the file repo://a.pdf of type application/pdf, not shown]\n\
                     [a link to the log: file:///log]\n[an image of type image/png]\n[an image of type image/tiff, not shown]";
        let (text, images) = super::shown(&called);
        assert_eq!((text.as_str(), images.len()), (expected, 1));
    }

    #[test]
    fn a_wait_alone_is_waited_for() {
        let missing = JsonObject::from_iter([("missing".to_owned(), json!("details"))]);
        let mut pending = Pending::default();
        let waits = pending.take(vec![asked("a", WAIT, Ok(missing))], &ModelNames::default());
        assert_eq!(waits, Ok(Action::Wait { missing: "details".to_owned() }));
        let unreadable = vec![asked("b", "look", Err("no object".to_owned()))];
        let nothing = pending.take(unreadable, &ModelNames::default());
        assert_eq!(nothing, Err("no object".to_owned()));
    }
}
