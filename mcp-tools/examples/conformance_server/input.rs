//! Tools and prompts that need input in the way of 2026-07-28 (SEP-2322): the result names the needed input, and
//! the client repeats the request with it. The request state carries the earlier rounds.

use rmcp::{
    ErrorData,
    model::{ClientCapabilities, InputResponses, RequestStateCodec},
};
use serde_json::{Map, Value, json};

use crate::tools::text;

/// The data that a client adds when it repeats a request.
pub(crate) struct InputRetry<'a> {
    pub(crate) responses: Option<InputResponses>,
    pub(crate) state: Option<String>,
    pub(crate) capabilities: Option<ClientCapabilities>,
    pub(crate) codec: &'a RequestStateCodec,
}

impl InputRetry<'_> {
    /// Returns the tool's result; `None` if it is not one of these tools.
    pub(crate) fn answer(&self, tool: &str) -> Result<Option<Value>, ErrorData> {
        let said = match tool.strip_prefix("test_input_required_result_") {
            Some("elicitation") => self.name(),
            Some("sampling") => match self.given("capital_question", "content") {
                Some(content) => text(content.to_string()),
                None => needed([("capital_question", capital())], None),
            },
            Some("list_roots") => match self.given("client_roots", "roots") {
                Some(roots) => text(roots.to_string()),
                None => needed([("client_roots", roots())], None),
            },
            Some("request_state" | "tampered_state") => self.confirmed()?,
            Some("multiple_inputs") => self.several()?,
            Some("multi_round") => self.rounds()?,
            Some("capabilities") => self.allowed(),
            Some(_) | None => return Ok(None),
        };
        Ok(Some(said))
    }

    /// Returns the context that the prompt needs.
    pub(crate) fn context(&self) -> Option<&Value> {
        self.given("user_context", "content")?.get("context")
    }

    /// Returns a member of the response to one of the requests.
    fn given(&self, key: &str, member: &str) -> Option<&Value> {
        self.responses.as_ref()?.get(key)?.get(member)
    }

    fn name(&self) -> Value {
        let name = self.given("user_name", "content").and_then(|content| content["name"].as_str());
        match name {
            Some(name) => text(format!("Hello, {name}!")),
            None => needed([("user_name", question("What is your name?", "name"))], None),
        }
    }

    fn confirmed(&self) -> Result<Value, ErrorData> {
        if self.round()? == 1 && self.given("confirm", "action").is_some() {
            return Ok(text("state-ok"));
        }
        let confirm = form("Please confirm", "ok", "boolean");
        Ok(needed([("confirm", confirm)], Some(self.sealed(1))))
    }

    fn several(&self) -> Result<Value, ErrorData> {
        let keys = ["user_name", "greeting", "client_roots"];
        let responses = self.responses.as_ref();
        let has_all =
            responses.is_some_and(|given| keys.iter().all(|key| given.contains_key(*key)));
        if self.round()? == 1 && has_all {
            return Ok(text("everything is here"));
        }
        let requests = [
            ("user_name", question("What is your name?", "name")),
            ("greeting", sampling("Generate a greeting", 50)),
            ("client_roots", roots()),
        ];
        Ok(needed(requests, Some(self.sealed(1))))
    }

    fn rounds(&self) -> Result<Value, ErrorData> {
        Ok(match self.round()? {
            1 if self.given("step1", "content").is_some() => {
                let asked = question("Step 2: What is your favorite color?", "color");
                needed([("step2", asked)], Some(self.sealed(2)))
            }
            2 if self.given("step2", "content").is_some() => text("both steps are done"),
            _ => {
                let asked = question("Step 1: What is your name?", "name");
                needed([("step1", asked)], Some(self.sealed(1)))
            }
        })
    }

    /// Asks in a way that the client supports.
    fn allowed(&self) -> Value {
        let client = json!(self.capabilities);
        let mut requests = Vec::new();
        if !client["sampling"].is_null() {
            requests.push(("capital_question", capital()));
        }
        if !client["elicitation"].is_null() {
            requests.push(("user_name", question("What is your name?", "name")));
        }
        needed(requests, None)
    }

    /// Returns the round in the request state: 0 without a state. A state that this server did not sign is an
    /// error.
    fn round(&self) -> Result<u8, ErrorData> {
        let Some(state) = &self.state else {
            return Ok(0);
        };
        self.codec
            .open_json(state)
            .map_err(|error| ErrorData::invalid_params(format!("requestState: {error}"), None))
    }

    fn sealed(&self, round: u8) -> String {
        self.codec.seal(round.to_string().as_bytes())
    }
}

/// Returns a result that names the needed input.
pub(crate) fn needed(
    requests: impl IntoIterator<Item = (&'static str, Value)>,
    state: Option<String>,
) -> Value {
    let requests = requests.into_iter().map(|(key, request)| (key.to_owned(), request));
    let requests: Map<String, Value> = requests.collect();
    let mut answer = json!({"resultType": "input_required", "inputRequests": requests});
    if let Some(state) = state {
        answer["requestState"] = json!(state);
    }
    answer
}

/// Asks the user for a text.
pub(crate) fn question(message: &str, field: &str) -> Value {
    form(message, field, "string")
}

fn form(message: &str, field: &str, kind: &str) -> Value {
    json!({"method": "elicitation/create", "params": {
        "mode": "form",
        "message": message,
        "requestedSchema": {
            "type": "object",
            "properties": {field: {"type": kind}},
            "required": [field],
        },
    }})
}

fn capital() -> Value {
    sampling("What is the capital of France?", 100)
}

fn sampling(prompt: &str, tokens: u32) -> Value {
    json!({"method": "sampling/createMessage", "params": {
        "messages": [{"role": "user", "content": {"type": "text", "text": prompt}}],
        "maxTokens": tokens,
    }})
}

fn roots() -> Value {
    json!({"method": "roots/list", "params": {}})
}
