//! The settings of the built-in evaluator `episode`, from a scenario's `[config]` or from a request's JSON.

use std::time::Duration;

use clap::ValueEnum;
use mcp_tools::episodes::Limits;
use serde::{Deserialize, Serialize};

use super::{duration::Limit, pipeline::Credential, reader::table};

/// An evaluation in an environment that is reached over MCP.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Episode {
    /// The environment's name, one of [`mcp_tools::environments::BUILTINS`].
    pub environment: String,
    /// The direction of A2A calls.
    #[serde(default)]
    pub direction: Direction,
    /// The form in which connection details are sent.
    #[serde(default)]
    pub details: DetailsShape,
    /// The MCP transport.
    #[serde(default)]
    pub transport: McpTransport,
    /// The way in which details are delivered.
    #[serde(default)]
    pub delivery: Delivery,
    /// The token that is put into the details.
    #[serde(default)]
    pub token: TokenKind,
    /// The participant's limits.
    #[serde(default)]
    pub limits: EpisodeLimits,
    /// The repetition of unacknowledged messages; `None` if messages are not repeated.
    #[serde(default)]
    pub acknowledge: Option<Acknowledge>,
    /// The credentials that the participant is sent. They are no part of a request's config.
    #[serde(skip)]
    pub credentials: Vec<Credential>,
}

impl Episode {
    /// Returns an episode in this environment, with defaults for everything else.
    pub fn new(environment: impl Into<String>) -> Self {
        Self { environment: environment.into(), ..Self::default() }
    }
}

/// The direction of A2A calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// The evaluator sends messages to the participant, as in AgentBeats.
    #[default]
    GreenCalls,
    /// The participant says that it is ready, and gets its instructions in the reply.
    PurpleCalls,
}

/// The form of connection details in a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum DetailsShape {
    /// Two data parts: `mcpServers`, and `mcp_connection_details`.
    #[default]
    Data,
    /// A data part with the details in its member `data`.
    Nested,
    /// A text part in Markdown. The goal is a text, too.
    Text,
}

/// The MCP transport to the environment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum McpTransport {
    /// Streamable HTTP.
    #[default]
    Http,
    /// Stdio: a program that the participant starts and that relays to the environment.
    Stdio,
}

/// The way in which connection details are delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Delivery {
    /// In messages while the task runs.
    #[default]
    Messages,
    /// If the participant calls: in the reply itself, which ends its turn.
    Synchronous,
    /// Not at all: a policy of the runner has them from the start.
    Preset,
}

/// The token in the connection details. A participant must get no access with any but the valid one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum TokenKind {
    /// The episode's own token.
    #[default]
    Valid,
    /// A token that belongs to no episode.
    Wrong,
    /// The token of an episode whose time is over.
    Expired,
    /// The token of another running episode.
    Foreign,
}

/// The limits of a participant in an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EpisodeLimits {
    /// The most calls of the environment's tools.
    pub steps: u32,
    /// The longest time from the episode's beginning to its end.
    #[serde(with = "super::duration")]
    pub time: Duration,
}

impl Default for EpisodeLimits {
    /// Returns the limits of [`mcp_tools::episodes::Limits`].
    fn default() -> Self {
        let Limits { steps, time, .. } = Limits::default();
        Self { steps, time }
    }
}

table! {
    /// The repetition of messages that are not acknowledged.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct Acknowledge as "Resending", closed {
        /// The time after which an unacknowledged message is sent again.
        #[serde(with = "super::duration")]
        default after: Duration as Limit = "5s",
        /// The most repetitions of a message.
        default resend: u32 = 2,
    }
}

impl Default for Acknowledge {
    /// Returns 5 seconds and two repetitions.
    fn default() -> Self {
        Self { after: Duration::from_secs(5), resend: 2 }
    }
}

/// Returns the name of a choice in files, requests and on the command line.
pub fn name_of<T: ValueEnum>(choice: &T) -> String {
    let value = choice.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}

/// Returns the names of all choices of a type.
pub fn names<T: ValueEnum>() -> Vec<String> {
    T::value_variants().iter().map(name_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn written_values_are_read_again() {
        let mut episode = Episode::new("shop");
        episode.direction = Direction::PurpleCalls;
        episode.acknowledge = Some(Acknowledge::default());
        let written = serde_json::to_value(&episode).unwrap();
        assert_eq!(written["direction"], "purple-calls");
        assert_eq!(written["limits"], json!({"steps": 50, "time": "300s"}));
        assert_eq!(serde_json::from_value::<Episode>(written).unwrap(), episode);
    }

    #[test]
    fn only_the_environment_must_be_said() {
        let read = |value: Value| serde_json::from_value::<Episode>(value);
        assert_eq!(read(json!({"environment": "sum"})).unwrap(), Episode::new("sum"));
        for wrong in [
            json!({}),
            json!({"environment": "sum", "detail": "text"}),
            json!({"environment": "sum", "details": "texts"}),
            json!({"environment": "sum", "limits": {"time": "soon"}}),
        ] {
            assert!(read(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn files_and_the_command_line_say_the_same_words() {
        for kind in TokenKind::value_variants() {
            assert_eq!(serde_json::to_value(kind).unwrap(), name_of(kind));
        }
        assert_eq!(names::<Direction>(), ["green-calls", "purple-calls"]);
    }
}
