//! A policy that helps a user by finding other agents and calling their skills, in six steps:
//!
//! 1. It identifies the subject of the request: the name in it, or else all of its words.
//! 2. It searches for sites with `web_search`.
//! 3. It looks for an agent on each site with `discover_a2a_agent_capabilities`.
//! 4. It chooses the skill that fits the request best, by the words of its name, tags, description and examples,
//!    from the agents that are responsible for the named body or place. It reads the skill's parameters from the
//!    request, with ages in words and digits; it asks for missing ones, and which of several is meant.
//! 5. It calls the skill with `invoke_a2a_agent_skill`, and reports the result to the user.
//! 6. If there is no suitable agent, it says so.
//!
//! The tools are those of the MCP server in its preset connection details. Its one setting is `words_only`
//! (default false): whether agents get the request as text, without skill and parameters.

mod age;
mod choice;
mod fit;
mod intent;
mod name;
mod parameters;
mod report;
mod request;
mod search;
mod token;
mod typos;
mod words;

use std::sync::Arc;

use async_trait::async_trait;
use rmcp::model::object;
use serde_json::{Value, json};

use super::{
    Action, CompletedCall, NewPolicy, Observation, Policy, PolicyError, SettingsError, ToolCall,
    settings::only_flag,
};
use choice::{Choice, Chosen};
use request::Request;
use search::SearchProgress;

const CONNECT: &str = "connect_to_mcp_server";
const SEARCH: &str = "web_search";
const DISCOVER: &str = "discover_a2a_agent_capabilities";
const INVOKE: &str = "invoke_a2a_agent_skill";

/// The largest number of sites on which an agent is searched.
const MAX_SITES: usize = 3;

pub(super) fn new_policy(settings: &Value) -> Result<NewPolicy, SettingsError> {
    let words_only = only_flag(settings, "words_only", false);
    let words_only = words_only.map_err(SettingsError::of("personal"))?;
    Ok(Arc::new(move || Box::new(Personal { words_only, first: None, heard: 0, chosen: None })))
}

/// The policy with its decisions; everything else is in the observation.
struct Personal {
    words_only: bool,
    /// The number of the message with which the request began.
    first: Option<u64>,
    /// The number of the last message that was sent to an agent.
    heard: u64,
    chosen: Option<Chosen>,
}

#[async_trait]
impl Policy for Personal {
    fn name(&self) -> &str {
        "personal"
    }

    async fn next(&mut self, observation: &Observation<'_>) -> Result<Action, PolicyError> {
        let newest = observation.context.incoming_messages().newest();
        let first = *self.first.get_or_insert(newest);
        let request = Request::since(observation.context, first);
        if request.is_empty() {
            return Ok(wait("a request, in words"));
        }
        if !observation.has_tool(DISCOVER) {
            return Ok(connect(observation));
        }
        Ok(self.go_on(observation, &request, newest))
    }
}

impl Personal {
    fn go_on(&mut self, observation: &Observation<'_>, request: &Request, newest: u64) -> Action {
        let search = SearchProgress::of(observation.steps);
        let called = observation.last().filter(|last| last.call.name == INVOKE);
        if let (Some(called), Some(chosen)) = (called, self.chosen.clone()) {
            return self.after_call(called, &chosen, request, newest);
        }
        let Some(found) = search.found() else {
            return call(SEARCH, json!({"query": request.subject()}));
        };
        if let Err(why) = found {
            return Action::finish(report::no_search(&why));
        }
        if let Some(site) = search.next_site(MAX_SITES) {
            return call(DISCOVER, json!({"target_url": site}));
        }
        let agents = search.agents();
        match Choice::of(&agents, request, self.words_only) {
            Choice::Skill(chosen) => self.invoke(chosen, request, newest),
            Choice::Missing(what) => wait(&what),
            Choice::None => Action::finish(report::none_suitable(&search, &request.wanted())),
        }
    }

    fn invoke(&mut self, chosen: Chosen, request: &Request, newest: u64) -> Action {
        let mut task = json!({
            "task_base_url": chosen.base_url,
            "contextual_query_text": format!("User asked: {}", request.text()),
        });
        if let Some(parameters) = &chosen.parameters {
            task["skill_id"] = json!(chosen.skill_id);
            task["parameters"] = json!(parameters);
        }
        self.heard = newest;
        self.chosen = Some(chosen);
        call(INVOKE, json!({"task_request_object": task}))
    }

    /// Handles the result of a call. One that is still running is waited for. A question of the agent is passed to the user, and the answer continues the
    /// agent's task.
    fn after_call(
        &mut self,
        called: &CompletedCall,
        chosen: &Chosen,
        request: &Request,
        newest: u64,
    ) -> Action {
        let outcome = called.data();
        if outcome["status"] == "working" {
            let task = json!({"call_id": outcome["call_id"]});
            return call(INVOKE, json!({"task_request_object": task}));
        }
        if outcome["status"] != "input_required" {
            let text = report::outcome(chosen, &outcome, &called.text());
            let data = outcome.get("result_data").filter(|_| outcome["status"] == "success");
            return Action::Finish { text, data: data.cloned() };
        }
        let answer = request.since_message(self.heard);
        if answer.is_empty() {
            let question = outcome["text"].as_str().unwrap_or("more about the request");
            return wait(&format!("{} asks: {question}", chosen.agent));
        }
        self.heard = newest;
        let task = json!({
            "task_base_url": chosen.base_url,
            "contextual_query_text": answer,
            "task_id": outcome["task_id"],
            "context_id": outcome["context_id"],
        });
        call(INVOKE, json!({"task_request_object": task}))
    }
}

/// Connects to the server with the tools, which all further steps need.
fn connect(observation: &Observation<'_>) -> Action {
    match observation.last() {
        Some(failed) if failed.failed() => Action::finish(report::no_tools(&failed.text())),
        Some(_) => Action::finish(report::no_tools("the server that I know does not have them")),
        None => call(CONNECT, json!({})),
    }
}

fn wait(missing: &str) -> Action {
    Action::Wait { missing: missing.to_owned() }
}

fn call(tool: &str, arguments: Value) -> Action {
    Action::Call(vec![ToolCall::new(tool, object(arguments))])
}

#[cfg(test)]
mod sentences;
#[cfg(test)]
mod tests;
