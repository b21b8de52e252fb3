//! Policies that each misbehave in one way, to test evaluators and limits.

use std::sync::Arc;

use async_trait::async_trait;
use mcp_tools::{
    connection::{ConnectionDetails, Transport},
    secret::Secret,
};
use rmcp::model::JsonObject;
use serde_json::{Value, json};

use super::{
    Action, NewPolicy, Observation, Policy, PolicyError, SettingsError, ToolCall,
    settings::Settings,
};
use crate::toolbox::Origin;

/// The way in which a policy misbehaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    NeverConnects,
    WrongToken,
    Lies,
    NeverStops,
}

impl Fault {
    const ALL: [Self; 4] = [Self::NeverConnects, Self::WrongToken, Self::Lies, Self::NeverStops];

    fn name(self) -> &'static str {
        match self {
            Self::NeverConnects => "never-connects",
            Self::WrongToken => "wrong-token",
            Self::Lies => "lies",
            Self::NeverStops => "never-stops",
        }
    }
}

/// Creates the faulty policy of this name. These policies have no settings.
pub(super) fn new_policy(name: &str, settings: &Value) -> Result<NewPolicy, SettingsError> {
    let Some(fault) = Fault::ALL.into_iter().find(|fault| fault.name() == name) else {
        return Err(SettingsError::NoSuchPolicy(name.to_owned()));
    };
    let read = Settings::of(settings).and_then(Settings::end);
    read.map_err(SettingsError::of(fault.name()))?;
    Ok(Arc::new(move || Box::new(Faulty(fault))))
}

struct Faulty(Fault);

#[async_trait]
impl Policy for Faulty {
    fn name(&self) -> &str {
        self.0.name()
    }

    async fn next(&mut self, observation: &Observation<'_>) -> Result<Action, PolicyError> {
        Ok(match self.0 {
            Fault::NeverConnects => Action::Wait { missing: "the will to connect".to_owned() },
            Fault::WrongToken => wrong_token(observation),
            Fault::Lies => Action::Finish {
                text: "The task is done.".to_owned(),
                data: Some(json!({"success": true, "score": 1.0})),
            },
            Fault::NeverStops => Action::Call(vec![endless(observation)]),
        })
    }
}

/// Connects once with details whose token was changed, and reports the result.
fn wrong_token(observation: &Observation<'_>) -> Action {
    if let Some(tried) = observation.last() {
        return Action::finish(tried.text());
    }
    let context = observation.context;
    let details =
        context.mcp_connection_details().or_else(|| context.received_connection_details());
    match details {
        Some(details) => {
            context.set_mcp_connection_details(with_wrong_token(details));
            let server = JsonObject::from_iter([("server".to_owned(), json!(WRONG_TOKEN_SERVER))]);
            Action::Call(vec![ToolCall::new("connect_to_mcp_server", server)])
        }
        None => Action::Wait { missing: "MCP connection details".to_owned() },
    }
}

/// The server name for details with a changed token, so that only these details are tried.
const WRONG_TOKEN_SERVER: &str = "wrong-token";

/// Returns the details with every secret changed, so that the server must reject them.
fn with_wrong_token(mut details: ConnectionDetails) -> ConnectionDetails {
    let secrets = match &mut details.transport {
        Transport::Http { headers, .. } => headers,
        Transport::Stdio { env, .. } => env,
    };
    details.name = WRONG_TOKEN_SERVER.to_owned();
    for secret in secrets.values_mut() {
        *secret = Secret::new(format!("{}x", secret.expose()));
    }
    details
}

/// Connects, then calls the first tool again and again.
fn endless(observation: &Observation<'_>) -> ToolCall {
    let theirs = observation
        .tools
        .iter()
        .find(|offered| offered.origin == Origin::Server && offered.tool.name != "submit");
    match theirs {
        Some(offered) => ToolCall::new(offered.tool.name.clone(), JsonObject::new()),
        None => connect(),
    }
}

fn connect() -> ToolCall {
    ToolCall::new("connect_to_mcp_server", JsonObject::new())
}
