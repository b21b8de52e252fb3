//! What `rmcp` does otherwise with the messages of tool calls: it discards results with content that it does not know, and
//! replaces tokens of progress by its own.

use std::borrow::Cow;

use rmcp::{
    RoleClient,
    model::{
        CallToolResult, ClientRequest, ContentBlock, CustomResult, GetMeta as _, JsonRpcMessage,
        RequestParamsMeta as _, ServerResult,
    },
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde::Deserialize as _;
use serde_json::{Value, json};

/// A transport that makes a text of each content block of an unknown kind, so that the other blocks of the result count, and that
/// keeps the token of progress that the parameters of a call have.
pub(super) struct Readable<T>(pub(super) T);

impl<T: Transport<RoleClient>> Transport<RoleClient> for Readable<T> {
    type Error = T::Error;

    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn send(
        &mut self,
        mut message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        if let JsonRpcMessage::Request(request) = &mut message
            && let ClientRequest::CallToolRequest(call) = &request.request
            && let Some(token) = call.params.progress_token()
        {
            request.request.get_meta_mut().set_progress_token(token);
        }
        self.0.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let mut message = self.0.receive().await?;
        if let JsonRpcMessage::Response(response) = &mut message
            && let ServerResult::CustomResult(CustomResult(result)) = &response.result
            && let Some(readable) = readable(result)
        {
            response.result = ServerResult::CallToolResult(readable);
        }
        Some(message)
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.0.close().await
    }
}

/// Reads the result of a tool whose content is a list; `None` for any other result.
fn readable(result: &Value) -> Option<CallToolResult> {
    let mut result = result.clone();
    for block in result.get_mut("content")?.as_array_mut()? {
        if ContentBlock::deserialize(&*block).is_err() {
            *block = json!({"type": "text", "text": described(block)});
        }
    }
    CallToolResult::deserialize(result).ok()
}

/// Returns the JSON of a block, without the data of a file.
fn described(block: &Value) -> String {
    let mut block = block.clone();
    for name in ["data", "blob"] {
        if let Some(data @ Value::String(_)) = block.get_mut(name) {
            *data = json!("..");
        }
    }
    block.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_of_an_unknown_kind_is_its_json() {
        let result = json!({"content": [
            {"type": "text", "text": "known"},
            {"type": "json", "json": {"a": 1}},
            {"type": "video", "mimeType": "video/mp4", "data": "AAAA"},
            {"type": "text", "text": 5},
        ], "isError": true});
        let read = json!(readable(&result).unwrap());
        let texts: Vec<_> =
            read["content"].as_array().unwrap().iter().map(|b| &b["text"]).collect();
        assert_eq!(
            texts,
            [
                "known",
                r#"{"json":{"a":1},"type":"json"}"#,
                r#"{"data":"..","mimeType":"video/mp4","type":"video"}"#,
                r#"{"text":5,"type":"text"}"#,
            ]
        );
        assert_eq!(read["isError"], true);
    }

    #[test]
    fn another_result_stays_as_it_is() {
        for result in [json!({"tools": []}), json!({"content": "text"}), json!(null)] {
            assert_eq!(readable(&result), None, "{result}");
        }
    }
}
