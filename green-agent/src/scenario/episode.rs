//! What the built-in evaluator `episode` is told, by a scenario's `[config]` or by a request as JSON.

use std::time::Duration;

use clap::ValueEnum;
use mcp_tools::episodes::Limits;
use serde::{Deserialize, Serialize};

/// An evaluation in an environment that is reached over MCP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Episode {
    /// The environment's name, one of [`mcp_tools::environments::BUILTINS`].
    pub environment: String,
    /// Who calls whom over A2A.
    #[serde(default)]
    pub direction: Direction,
    /// The shape in which connection details are sent.
    #[serde(default)]
    pub details: DetailsShape,
    /// How the environment is reached.
    #[serde(default)]
    pub transport: McpTransport,
    /// When and how details are handed over.
    #[serde(default)]
    pub delivery: Delivery,
    /// Which token the details hold.
    #[serde(default)]
    pub token: TokenKind,
    /// What the participant may use up.
    #[serde(default)]
    pub limits: EpisodeLimits,
    /// Whether the participant is to acknowledge messages, if it can.
    #[serde(default)]
    pub acknowledge: Option<Acknowledge>,
}

impl Episode {
    /// An episode of this environment, everything else by default.
    pub fn new(environment: impl Into<String>) -> Self {
        Self {
            environment: environment.into(),
            direction: Direction::default(),
            details: DetailsShape::default(),
            transport: McpTransport::default(),
            delivery: Delivery::default(),
            token: TokenKind::default(),
            limits: EpisodeLimits::default(),
            acknowledge: None,
        }
    }
}

/// Who calls whom over A2A.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// The evaluator sends messages to the participant, as in AgentBeats.
    #[default]
    GreenCalls,
    /// The participant says that it is ready, and is told what to do in the answer.
    PurpleCalls,
}

/// The shape in which connection details stand in a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum DetailsShape {
    /// Two data parts: `mcpServers`, and `mcp_connection_details`.
    #[default]
    Data,
    /// A data part with the details inside its member `data`.
    Nested,
    /// A text part in Markdown.
    Text,
}

/// How the environment is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum McpTransport {
    /// Streamable HTTP.
    #[default]
    Http,
    /// A program that the participant starts, and that passes on to the environment.
    Stdio,
}

/// When and how details are handed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Delivery {
    /// In messages.
    #[default]
    Messages,
    /// Where the participant calls: in the reply itself, at once, which ends its turn.
    Synchronous,
    /// Not by message: a policy of the runner has them from the beginning.
    Preset,
}

/// Which token the details hold: a participant must not get anywhere with any but the valid one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum TokenKind {
    /// The episode's own.
    #[default]
    Valid,
    /// One that nobody gave out.
    Wrong,
    /// That of an episode whose time is over.
    Expired,
    /// That of another episode, which goes on.
    Foreign,
}

/// What a participant may use up in an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EpisodeLimits {
    /// Calls of the environment's tools.
    pub steps: u32,
    /// From the episode's beginning to its end.
    #[serde(with = "super::duration")]
    pub time: Duration,
}

impl Default for EpisodeLimits {
    /// Those of [`mcp_tools::episodes::Limits`].
    fn default() -> Self {
        let Limits { steps, time, .. } = Limits::default();
        Self { steps, time }
    }
}

/// What is done about messages that the participant does not acknowledge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Acknowledge {
    /// How long each copy of a message may go unacknowledged before the next one is sent.
    #[serde(with = "super::duration")]
    pub after: Duration,
    /// How many more times it is sent at the most.
    pub resend: u32,
}

impl Default for Acknowledge {
    /// 5 seconds, twice more.
    fn default() -> Self {
        Self {
            after: Duration::from_secs(5),
            resend: 2,
        }
    }
}

/// The name of a choice in files, requests and on the command line.
pub fn name_of<T: ValueEnum>(choice: &T) -> String {
    let value = choice.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}

/// The names of all choices of a kind.
pub fn names<T: ValueEnum>() -> Vec<String> {
    T::value_variants().iter().map(name_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn what_is_written_is_read_again() {
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
        assert_eq!(
            read(json!({"environment": "sum"})).unwrap(),
            Episode::new("sum")
        );
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
