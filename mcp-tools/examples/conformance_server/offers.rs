//! The lists of the server's tools, prompts and resources.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};

/// The names of the tools without arguments.
const PLAIN: [&str; 23] = [
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_tool_with_logging",
    "test_logging_tool",
    "test_error_handling",
    "test_tool_with_progress",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_missing_capability",
    "test_streaming_elicitation",
    "test_trigger_tool_change",
    "test_trigger_prompt_change",
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_tampered_state",
    "test_input_required_result_capabilities",
];

pub(crate) fn tools() -> Vec<Tool> {
    let mut tools: Vec<Tool> = PLAIN.into_iter().map(|name| tool(name, json!({}), &[])).collect();
    let text = json!({"type": "string"});
    tools.push(tool("test_sampling", json!({"prompt": text}), &["prompt"]));
    tools.push(tool("test_elicitation", json!({"message": text}), &["message"]));
    tools
}

fn tool(name: &'static str, properties: Value, required: &[&str]) -> Tool {
    let mut schema = JsonObject::new();
    schema.insert("type".into(), json!("object"));
    schema.insert("properties".into(), properties);
    schema.insert("required".into(), json!(required));
    Tool::new(name, "A tool that the conformance suite calls.", Arc::new(schema))
}

pub(crate) fn prompts() -> Value {
    json!({"resultType": "complete", "prompts": [
        {"name": "test_simple_prompt", "description": "A text."},
        {
            "name": "test_prompt_with_arguments",
            "description": "A text with two arguments.",
            "arguments": [
                {"name": "arg1", "description": "The first.", "required": true},
                {"name": "arg2", "description": "The second.", "required": true},
            ],
        },
        {
            "name": "test_prompt_with_embedded_resource",
            "description": "A resource.",
            "arguments": [{"name": "resourceUri", "description": "Which one.", "required": true}],
        },
        {"name": "test_prompt_with_image", "description": "An image."},
        {"name": "test_input_required_result_prompt", "description": "A text that needs a context."},
    ]})
}

pub(crate) fn resources() -> Value {
    json!({"resultType": "complete", "resources": [
        {
            "uri": "test://static-text",
            "name": "static-text",
            "description": "A text.",
            "mimeType": "text/plain",
        },
        {
            "uri": "test://static-binary",
            "name": "static-binary",
            "description": "An image.",
            "mimeType": "image/png",
        },
        {
            "uri": "test://watched-resource",
            "name": "watched-resource",
            "description": "A text that may be watched.",
            "mimeType": "text/plain",
        },
    ]})
}

pub(crate) fn templates() -> Value {
    json!({"resultType": "complete", "resourceTemplates": [{
        "uriTemplate": "test://template/{id}/data",
        "name": "template",
        "description": "Data by its id.",
        "mimeType": "application/json",
    }]})
}
