//! The policy `scripted`: steps from its settings, with values from earlier results.

use std::sync::Arc;

use mcp_tools::{
    async_trait,
    context::AgentContext,
    rmcp::{
        self,
        model::{CallToolResult, JsonObject},
    },
    tools::Tool,
};
use purple_agent::{agent::StopReason, policy, run::Verdict};
use serde_json::{Value, json};

use crate::{
    environments::{agent, evaluated},
    green::{Green, Plan},
};

async fn outcome_of(script: &Value) -> (Verdict, String, Option<Value>) {
    let green = Green::start(Plan::of("shop", 5)).await;
    let report = evaluated(&green, &agent("scripted", script)).await;
    let outcome = report.outcome.unwrap();
    let text = match outcome.ended {
        StopReason::Finished => outcome.text,
        ended => ended.to_string(),
    };
    (report.verdict, text, outcome.data)
}

#[tokio::test]
async fn steps_use_what_earlier_results_said() {
    let script = json!({
        "steps": [
            {"tool": "connect_to_mcp_server"},
            {"tool": "show_list"},
            {"tool": "search", "arguments": {"query": "${last/colour} ${2/kind}"}},
            {"tool": "set_address", "arguments": {"address": "${2/address}"}},
            {"tool": "no_such_tool"},
            {"tool": "submit"},
        ],
        "finish": {
            "text": "$${plain} ${1/connected} ${messages/0/parts/0/data/task_id}",
            "data": {"query_found": "${3/found}", "address": "${4/address}", "wanted": "${2/address}"},
        },
    });
    let (verdict, text, data) = outcome_of(&script).await;
    assert_eq!((verdict, text.as_str()), (Verdict::Failed, "${plain} true shop.order"));
    let data = data.unwrap();
    assert_eq!(data["query_found"], 3);
    assert_eq!(data["address"], data["wanted"]);
}

/// A tool of one's own, which doubles a number.
struct Double;

#[async_trait]
impl Tool for Double {
    fn describe(&self) -> rmcp::model::Tool {
        rmcp::model::Tool::new("double", "Doubles a number.", JsonObject::new())
    }

    async fn call(&self, _context: &AgentContext, arguments: JsonObject) -> CallToolResult {
        let number = arguments.get("number").and_then(Value::as_i64);
        CallToolResult::structured(json!({"doubled": number.map(|number| 2 * number)}))
    }
}

#[tokio::test]
async fn a_tool_of_ones_own_stands_beside_the_standard_ones() {
    let script = json!({
        "steps": [
            {"tool": "connect_to_mcp_server"},
            {"tool": "double", "arguments": {"number": 21}},
            {"tool": "submit"},
        ],
        "finish": {"text": "${1/connected} ${2/doubled}"},
    });
    let green = Green::start(Plan::of("sum", 1)).await;
    let agent = agent("scripted", &script).with_tool(Arc::new(Double));
    let outcome = evaluated(&green, &agent).await.outcome.unwrap();
    assert_eq!(outcome.text, "true 42");
}

#[tokio::test]
async fn a_failed_step_can_end_the_script() {
    let script = json!({"steps": [
        {"tool": "connect_to_mcp_server", "arguments": {"server": "another"}, "on_error": "finish"},
        {"tool": "submit"},
    ]});
    let mut plan = Plan::of("sum", 1);
    plan.limits.time = std::time::Duration::from_millis(300);
    let report = evaluated(&Green::start(plan).await, &agent("scripted", &script)).await;
    let text = report.outcome.unwrap().text;
    assert!(text.contains("the details are of server \"environment\""), "{text}");
}

#[tokio::test]
async fn a_placeholder_without_a_value_ends_the_work() {
    for (arguments, expected) in [
        (
            json!({"query": "${7/kind}"}),
            "policy scripted cannot go on: step 2 of the script: arguments.query: expected a call ${7}, found none so far",
        ),
        (
            json!({"query": ["${last/nothing/0}"]}),
            "policy scripted cannot go on: step 2 of the script: arguments.query[0]: expected a value at ${last/nothing/0}, found nothing in {\"",
        ),
        (
            json!({"query": "${last"}),
            "policy scripted cannot go on: step 2 of the script: arguments.query: expected ${N/pointer}, ${last/pointer} or ${messages/pointer}, found a placeholder without an end",
        ),
    ] {
        let mut plan = Plan::of("shop", 5);
        plan.limits.time = std::time::Duration::from_millis(300);
        let script = json!({"steps": [{"tool": "connect_to_mcp_server"}, {"tool": "search", "arguments": arguments}]});
        let report = evaluated(&Green::start(plan).await, &agent("scripted", &script)).await;
        let ended = report.outcome.unwrap().ended.to_string();
        assert!(ended.starts_with(expected), "{ended}");
    }
}

#[test]
fn a_bad_script_is_refused_before_it_begins() {
    for (name, settings, expected) in [
        (
            "scripted",
            json!({"steps": [{"tool": "a"}, {"arguments": {}}]}),
            "settings of policy \"scripted\": steps[1].tool: expected a string, found nothing",
        ),
        (
            "scripted",
            json!({"steps": [{"tool": "a", "on_error": "retry"}]}),
            "settings of policy \"scripted\": steps[0].on_error: expected continue, wait or finish, found \"retry\"",
        ),
        (
            "lies",
            json!({"boldly": true}),
            "settings of policy \"lies\": boldly: expected no settings, found another name",
        ),
        (
            "clever",
            json!({}),
            "there is no policy \"clever\"; there are sum-and-shop, scripted, llm, personal, never-connects, wrong-token, lies, never-stops",
        ),
    ] {
        let made = policy::builtin(name, &settings);
        assert_eq!(made.err().map(|error| error.to_string()), Some(expected.to_owned()));
    }
}
