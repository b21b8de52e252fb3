//! Tests of the six steps and of each way in which they end.

use std::sync::Arc;

use jiff::Timestamp;
use mcp_tools::context::{AgentContext, Settings as ContextSettings};
use rmcp::model::{CallToolResult, JsonObject, Tool};

use super::*;
use crate::{
    policy::Step,
    toolbox::{Offered, Origin},
};

const ASKED: &str = "Can my 10-year-old son Seb join Urmston Town Juniors FC?";
pub(super) const SITE: &str = "https://urmstontownjfc.co.uk";

/// A user who talks to the policy, and tools whose answers the test sets.
pub(super) struct Talk {
    context: AgentContext,
    policy: Box<dyn Policy>,
    tools: Vec<Offered>,
    steps: Vec<Step>,
}

impl Talk {
    pub(super) fn begin(text: &str, settings: &Value) -> Self {
        let context = AgentContext::new(ContextSettings {
            clock: Arc::new(|| Timestamp::UNIX_EPOCH),
            ..ContextSettings::default()
        });
        let tools = [SEARCH, DISCOVER, INVOKE].map(|name| Offered {
            tool: Tool::new(name, "", JsonObject::new()),
            origin: Origin::Server,
        });
        let talk = Self {
            context,
            policy: new_policy(settings).unwrap()(),
            tools: tools.into(),
            steps: Vec::new(),
        };
        talk.say(text);
        talk
    }

    pub(super) fn say(&self, text: &str) {
        let message = json!({"messageId": text, "parts": [{"text": text}]});
        self.context.incoming_messages().receive("user", message, Timestamp::UNIX_EPOCH);
    }

    pub(super) async fn next(&mut self) -> Action {
        let observation = Observation {
            context: &self.context,
            tools: &self.tools,
            steps: &self.steps,
            steps_left: 10,
        };
        self.policy.next(&observation).await.unwrap()
    }

    /// Expects one call of this tool, answers it, and returns its arguments.
    async fn calls(&mut self, tool: &str, answer: Value) -> Value {
        let action = self.next().await;
        let Action::Call(calls) = action else {
            panic!("expected a call of {tool}, got {action:?}");
        };
        let [call] = &calls[..] else {
            panic!("expected one call, got {calls:?}");
        };
        assert_eq!(call.name, tool);
        let arguments = Value::Object(call.arguments.clone());
        self.answered(call.clone(), answer);
        arguments
    }

    /// Sets the tool's answer to the call.
    pub(super) fn answered(&mut self, call: ToolCall, answer: Value) {
        let result = match answer["status"] == "error" {
            true => CallToolResult::structured_error(answer),
            false => CallToolResult::structured(answer),
        };
        let called = vec![CompletedCall { call, result }];
        self.steps.push(Step { called });
    }

    async fn ends(&mut self) -> (String, Option<Value>) {
        match self.next().await {
            Action::Finish { text, data } => (text, data),
            other => panic!("expected an end, got {other:?}"),
        }
    }
}

fn sites() -> Value {
    json!({"results": [{"url": SITE, "title": "Urmston Town Juniors FC"}]})
}

fn club() -> Value {
    let schema = json!({
        "type": "object", "required": ["age"],
        "properties": {"age": {"type": "integer", "description": "Age of the child"}},
    });
    json!({
        "status": "success", "agent_name": "Orchestrator", "tasking_base_url": SITE,
        "available_skills": [{
            "id": "check_team_availability_v1", "name": "TeamVacancyCheck", "parameters_schema": schema,
            "description": "Checks for available spaces in Urmston Town junior teams based on age.",
        }],
    })
}

fn lions() -> Value {
    json!({"has_vacancy": true, "team_name": "U10 Lions", "contact": "coach@example.com"})
}

#[tokio::test]
async fn the_six_steps_lead_to_team_and_contact() {
    let mut talk = Talk::begin(ASKED, &Value::Null);
    let searched = talk.calls(SEARCH, sites()).await;
    assert_eq!(searched, json!({"query": "Urmston Town Juniors FC official website"}));
    assert_eq!(talk.calls(DISCOVER, club()).await, json!({"target_url": SITE}));
    let outcome = json!({"status": "success", "text": "Yes.", "result_data": lions()});
    let invoked = talk.calls(INVOKE, outcome).await;
    let expected = json!({"task_request_object": {
        "task_base_url": SITE, "skill_id": "check_team_availability_v1", "parameters": {"age": 10},
        "contextual_query_text": format!("User asked: {ASKED}"),
    }});
    assert_eq!(invoked, expected);
    let (text, data) = talk.ends().await;
    assert_eq!(
        text,
        format!(
            "I asked the Orchestrator ({SITE}). Yes. (contact: coach@example.com, has vacancy: yes, team name: U10 Lions)"
        )
    );
    assert_eq!(data, Some(lions()));
}

#[tokio::test]
async fn missing_parameters_are_requested_from_the_user() {
    let mut talk = Talk::begin("Can Seb join Urmston Town Juniors FC?", &Value::Null);
    talk.calls(SEARCH, sites()).await;
    talk.calls(DISCOVER, club()).await;
    let missing = "age (Age of the child)".to_owned();
    assert_eq!(talk.next().await, Action::Wait { missing });
    talk.say("He is 9");
    let invoked = talk.calls(INVOKE, json!({"status": "success", "text": "No."})).await;
    assert_eq!(invoked["task_request_object"]["parameters"], json!({"age": 9}));
    assert!(talk.ends().await.0.ends_with("No."));
}

#[tokio::test]
async fn questions_of_the_agent_are_passed_to_the_user_and_answered() {
    let mut talk = Talk::begin(ASKED, &json!({"words_only": true}));
    talk.calls(SEARCH, sites()).await;
    talk.calls(DISCOVER, club()).await;
    let asks = json!({"status": "input_required", "text": "Which team?", "task_id": "t", "context_id": "c"});
    let invoked = talk.calls(INVOKE, asks).await;
    assert_eq!(invoked["task_request_object"].get("skill_id"), None);
    let missing = "Orchestrator asks: Which team?".to_owned();
    assert_eq!(talk.next().await, Action::Wait { missing });
    talk.say("The Lions");
    let done = json!({"status": "success", "text": "Welcome."});
    let invoked = talk.calls(INVOKE, done).await;
    let expected = json!({"task_request_object": {
        "task_base_url": SITE, "contextual_query_text": "The Lions", "task_id": "t", "context_id": "c",
    }});
    assert_eq!(invoked, expected);
    assert!(talk.ends().await.0.ends_with("Welcome."));
}

#[tokio::test]
async fn a_site_that_has_not_answered_yet_is_asked_again() {
    let mut talk = Talk::begin(ASKED, &json!({"words_only": true}));
    talk.calls(SEARCH, sites()).await;
    let asked = talk.calls(DISCOVER, json!({"status": "working"})).await;
    assert_eq!(talk.calls(DISCOVER, club()).await, asked);
    let done = json!({"status": "success", "text": "Welcome."});
    talk.calls(INVOKE, done).await;
    assert!(talk.ends().await.0.ends_with("Welcome."));
}

#[tokio::test]
async fn a_call_that_goes_on_is_waited_for() {
    let mut talk = Talk::begin(ASKED, &json!({"words_only": true}));
    talk.calls(SEARCH, sites()).await;
    talk.calls(DISCOVER, club()).await;
    talk.calls(INVOKE, json!({"status": "working", "call_id": "7"})).await;
    let done = json!({"status": "success", "text": "Welcome."});
    let invoked = talk.calls(INVOKE, done).await;
    let expected = json!({"task_request_object": {"call_id": "7"}});
    assert_eq!(invoked, expected);
    assert!(talk.ends().await.0.ends_with("Welcome."));
}

#[tokio::test]
async fn a_request_that_no_agent_can_serve_is_explained() {
    for (answer, expected) in [
        (json!({"status": "not_found", "error": "no card"}), "it has no agent."),
        (json!({"status": "error", "error": "HTTP 500"}), "its agent cannot be found: HTTP 500."),
        (
            json!({"status": "success", "available_skills": [{"id": "x", "description": "Books flights"}]}),
            "its agent has no skill for this.",
        ),
    ] {
        let mut talk = Talk::begin(ASKED, &Value::Null);
        talk.calls(SEARCH, sites()).await;
        talk.calls(DISCOVER, answer).await;
        let (text, _) = talk.ends().await;
        assert!(text.starts_with("I could not find a specialised automated service"), "{text}");
        assert!(text.contains(&format!("I asked {SITE}: {expected}")), "{text}");
    }
    let mut talk = Talk::begin(ASKED, &Value::Null);
    talk.calls(SEARCH, json!({"results": []})).await;
    assert!(talk.ends().await.0.starts_with("I could not find"));
}

#[tokio::test]
async fn a_failed_call_is_reported() {
    for (outcome, expected) in [
        (
            json!({"status": "error", "state": "failed", "error": "the agent failed: no database"}),
            "but it could not help: the agent failed: no database",
        ),
        (
            json!({"status": "auth_required", "text": "Log in first"}),
            "but it wants credentials that I do not have: Log in first",
        ),
        (json!({"status": "not_found", "error": "e"}), "but it is not there any more."),
    ] {
        let mut talk = Talk::begin(ASKED, &Value::Null);
        talk.calls(SEARCH, sites()).await;
        talk.calls(DISCOVER, club()).await;
        talk.calls(INVOKE, outcome).await;
        let (text, data) = talk.ends().await;
        assert!(text.ends_with(expected), "{text}");
        assert_eq!(data, None);
    }
}

#[tokio::test]
async fn without_its_tools_it_says_so() {
    let mut talk = Talk::begin(ASKED, &Value::Null);
    talk.tools.clear();
    talk.calls(CONNECT, json!({"status": "error", "why": "no details"})).await;
    let (text, _) = talk.ends().await;
    assert!(text.starts_with("I cannot look for other agents"), "{text}");
}
