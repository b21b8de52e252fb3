//! The flags that configure the agent: its policy, its limits, and the allowed connections.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use bridge_program::{Exit, Failure, OrExit as _, failure};
use clap::Args;
use mcp_tools::{
    allow_list::AllowList,
    connection::{self, ConnectionDetails},
};
use serde_json::{Map, Value};

use crate::{
    agent::{AgentSettings, Limits, PurpleAgent},
    policy,
};

#[derive(Debug, Args)]
pub(super) struct AgentFlags {
    /// The policy that chooses the actions: llm (the default if a model is set), sum-and-shop (works only in those
    /// two environments; the default otherwise), scripted, personal, never-connects, wrong-token, lies,
    /// never-stops
    #[arg(long, value_name = "NAME", env = "PURPLE_POLICY")]
    policy: Option<String>,
    /// The policy's settings as a JSON object, or @FILE to read them from a file
    #[arg(long, value_name = "JSON", env = "PURPLE_SETTINGS")]
    settings: Option<String>,
    /// One setting of the policy; the value is read as JSON if possible, else as a string
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    set: Vec<(String, Value)>,
    /// The largest number of steps; a step may call several tools
    #[arg(long, value_name = "N", default_value_t = Limits::default().steps, value_parser = clap::value_parser!(u32).range(1..))]
    steps: u32,
    /// The largest number of tool calls of one step that run at the same time
    #[arg(long, value_name = "N", default_value_t = Limits::default().parallel, value_parser = clap::value_parser!(u32).range(1..=64))]
    parallel: u32,
    /// The time limit of the work, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = Limits::default().time.as_secs(), value_parser = clap::value_parser!(u64).range(1..=86_400))]
    time: u64,
    /// A host that may be connected to over HTTP, besides this machine
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,
    /// A command that may be started as an MCP server, spelled exactly as in the messages
    #[arg(long, value_name = "COMMAND")]
    allow_command: Vec<String>,
    /// A file with MCP connection details in any known shape; they take precedence over those in messages
    #[arg(long, value_name = "FILE")]
    mcp_details: Option<PathBuf>,
}

impl AgentFlags {
    /// Creates the agent, or prints the error in its flags and returns the exit code.
    pub(super) fn agent(&self) -> Result<PurpleAgent, Exit> {
        self.read().or_else(|error| Err(&error).or_exit(error.exit))
    }

    fn read(&self) -> Result<PurpleAgent, Failure> {
        let settings = self.policy_settings()?;
        let name = self.policy.as_deref();
        let name = name.unwrap_or_else(|| policy::default_name(&settings));
        let policy = policy::builtin(name, &settings);
        let policy = policy.map_err(failure(Exit::Usage))?;
        let settings = AgentSettings {
            limits: Limits {
                steps: self.steps,
                parallel: self.parallel,
                time: Duration::from_secs(self.time),
            },
            allowed: AllowList {
                hosts: self.allow_host.iter().cloned().collect(),
                commands: self.allow_command.iter().cloned().collect(),
                ..AllowList::default()
            },
            mcp_connection_details: self.details()?,
            ..AgentSettings::default()
        };
        Ok(PurpleAgent::new(policy, settings))
    }

    fn policy_settings(&self) -> Result<Value, Failure> {
        let Some(text) = self.settings.as_deref() else {
            return Ok(Value::Object(self.set.iter().cloned().collect()));
        };
        let mut settings: Map<String, Value> = match text.strip_prefix('@') {
            Some(file) => serde_json::from_str(&read(Path::new(file))?).map_err(|error| {
                failure(Exit::Unreadable)(format!(
                    "--settings {text}: expected a JSON object: {error}"
                ))
            })?,
            None => serde_json::from_str(text).map_err(|error| {
                failure(Exit::Usage)(format!("--settings: expected a JSON object: {error}"))
            })?,
        };
        settings.extend(self.set.iter().cloned());
        Ok(Value::Object(settings))
    }

    fn details(&self) -> Result<Option<ConnectionDetails>, Failure> {
        let Some(file) = &self.mcp_details else {
            return Ok(None);
        };
        let wrong = |reason: String| {
            failure(Exit::Unreadable)(format!("--mcp-details {}: {reason}", file.display()))
        };
        let document: Value = serde_json::from_str(&read(file)?)
            .map_err(|error| wrong(format!("expected JSON: {error}")))?;
        match connection::find(&document).into_iter().next_back() {
            Some(Ok(details)) => Ok(Some(details)),
            Some(Err(error)) => Err(wrong(error.to_string())),
            None => Err(wrong("there are no MCP connection details in it".to_owned())),
        }
    }
}

fn read(file: &Path) -> Result<String, Failure> {
    let unread =
        |error| failure(Exit::Unreadable)(format!("cannot read {}: {error}", file.display()));
    fs::read_to_string(file).map_err(unread)
}

/// Parses `KEY=VALUE`. The value is read as JSON if possible, else as a string.
fn pair(text: &str) -> Result<(String, Value), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
    let text = || Value::String(value.to_owned());
    let value = serde_json::from_str(value).unwrap_or_else(|_| text());
    Ok((key.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_setting_is_json_or_else_text() {
        for (text, value) in [
            ("k=7", json!(7)),
            ("k=true", json!(true)),
            ("k={\"a\": 1}", json!({"a": 1})),
            ("k=gpt-5", json!("gpt-5")),
            ("k=a=b", json!("a=b")),
            ("k=", json!("")),
        ] {
            assert_eq!(pair(text), Ok(("k".to_owned(), value)));
        }
        assert!(pair("k").is_err());
    }
}
