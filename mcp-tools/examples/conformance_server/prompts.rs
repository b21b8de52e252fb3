//! Returns the messages of prompts.

use rmcp::{ErrorData, model::JsonObject};
use serde_json::{Value, json};

use crate::{
    input::{InputRetry, needed, question},
    tools::PNG,
};

pub(crate) fn get(
    prompt: &str,
    arguments: &JsonObject,
    again: &InputRetry<'_>,
) -> Result<Value, ErrorData> {
    let argument = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    Ok(match prompt {
        "test_simple_prompt" => messages([text("This is a simple prompt for testing.")]),
        "test_prompt_with_arguments" => messages([text(&format!(
            "Prompt with arguments: arg1='{}', arg2='{}'",
            argument("arg1"),
            argument("arg2"),
        ))]),
        "test_prompt_with_embedded_resource" => messages([
            json!({"type": "resource", "resource": {
                "uri": argument("resourceUri"),
                "mimeType": "text/plain",
                "text": "Embedded resource content for testing.",
            }}),
            text("Please process the embedded resource above."),
        ]),
        "test_prompt_with_image" => messages([
            json!({"type": "image", "data": PNG, "mimeType": "image/png"}),
            text("Please analyze the image above."),
        ]),
        "test_input_required_result_prompt" => match again.context() {
            Some(context) => messages([text(&format!("The context is {context}."))]),
            None => {
                let asked = question("What context should the prompt use?", "context");
                needed([("user_context", asked)], None)
            }
        },
        unknown => {
            let message = format!("there is no prompt {unknown:?}");
            return Err(ErrorData::invalid_params(message, None));
        }
    })
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn messages(contents: impl IntoIterator<Item = Value>) -> Value {
    let contents = contents.into_iter();
    let messages: Vec<Value> =
        contents.map(|content| json!({"role": "user", "content": content})).collect();
    json!({"resultType": "complete", "messages": messages})
}
