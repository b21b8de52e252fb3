//! One agent, as the file says it.

use std::{collections::BTreeMap, path::PathBuf};

use clap::{ValueEnum, builder::PossibleValue};
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use super::{Accept, AgentName, AgentPath, Auth, CardConfig, CheckConfig, HttpUrl, Period};

/// An agent: a running bot, or one that comes with the bridge.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentConfig {
    /// Its name; its tasks are kept under it, and it is served at /a2a/NAME.
    #[schemars(with = "AgentName")]
    pub name: Spanned<AgentName>,
    /// The URL where a running bot takes activities.
    pub bot: Option<HttpUrl>,
    /// An agent that comes with the bridge, such as sample.
    #[schemars(with = "Option<String>")]
    pub builtin: Option<Spanned<String>>,
    /// Where it is served, in place of /a2a/NAME.
    #[schemars(with = "Option<AgentPath>")]
    pub path: Option<Spanned<AgentPath>>,
    /// A file with its card, of any version of A2A, beside this one if the path is relative; what card says
    /// stands over it. Where the agent is reached is the bridge's to say.
    pub card_file: Option<PathBuf>,
    /// What it says about itself.
    #[serde(default)]
    pub card: CardConfig,
    /// What it says about itself to authenticated callers beyond that: its skills are added.
    pub extended_card: Option<CardConfig>,
    /// How what callers show is checked, by the name of the security scheme in the card.
    #[serde(default)]
    pub access: BTreeMap<String, CheckConfig>,
    /// What the bridge shows to the bot; nothing if absent.
    pub auth: Option<Auth>,
    /// What the bot must show to the bridge; nothing if absent, which is for loopback only.
    pub accept: Option<Accept>,
    /// How the bot is asked to answer; auto if absent.
    pub delivery: Option<DeliveryMode>,
    /// The channel that the bot believes to be on; webchat if absent, a2a if the bot is built in.
    pub channel_id: Option<String>,
    /// The language that the users speak; en-US if absent.
    pub locale: Option<String>,
    /// The id by which the bot knows every user, in place of the caller's own.
    pub user_id: Option<String>,
    /// The bot's account on the channel; the agent's name if absent.
    pub bot_id: Option<String>,
    /// What the bot is called there; the agent's name if absent.
    pub bot_name: Option<String>,
    /// What the end of a turn means; answers if absent. Built-in agents have none if absent: the user may go on
    /// in the task, which is the conversation.
    pub turns: Option<TurnsAre>,
    /// What the bot's conversations are: each task, or each context. What turns says if absent.
    pub conversation: Option<ConversationIs>,
    /// What a turn means that ends without saying so. What turns says if absent.
    pub silent_end: Option<SilentTurn>,
    /// Whether the bot gets a conversationUpdate before the first message.
    #[serde(default)]
    pub first_contact: bool,
    /// Whether a turn that is one plain message is answered with that message alone, without a task.
    #[serde(default)]
    pub message_only: bool,
    /// Whether tasks are answered to message/send of 0.3 as {"task": {"state": ..}}, which the smallest agents
    /// and their clients know.
    #[serde(default)]
    pub flat_results: bool,
    /// What ends a turn where the bot's HTTP answer does not tell it.
    #[serde(default)]
    pub ending: EndingConfig,
    /// How long the bot's HTTP answer may take; 120s if absent.
    pub request_timeout: Option<Period>,
    /// How long a turn may take in all; 5m if absent.
    pub turn_limit: Option<Period>,
    /// How many turns may wait in one conversation; 16 if absent.
    pub queue: Option<usize>,
    /// The largest HTTP answer of the bot, in bytes; 16 MiB if absent.
    pub answer_limit: Option<usize>,
    /// Where this bot reaches the bridge, if not where the others do.
    pub callback_url: Option<HttpUrl>,
    /// What a message is whose id came before from the same caller; same if absent.
    pub repeats: Option<RepeatsAre>,
    /// How long a task may wait for an answer of the user; for ever if absent.
    pub expire_after: Option<Period>,
}

impl AgentConfig {
    /// What the end of its turns means, if it is a running bot: the value of `turns` with its meaning, and which keys
    /// stand over that.
    pub(crate) fn turns_in_words(&self) -> String {
        let turns = self.turns.unwrap_or_default();
        let over = [
            ("silent_end", self.silent_end.is_some()),
            ("conversation", self.conversation.is_some()),
        ];
        let over = over.iter().filter(|(_, is_said)| *is_said);
        let over: String = over
            .map(|(key, _)| format!("; {key} stands over it"))
            .collect();
        format!("turns = \"{}\": {}{over}", turns.name(), turns.meaning())
    }
}

/// How a bot is asked to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DeliveryMode {
    /// In the way that works with every bot.
    Auto,
    /// By calls of its own.
    Normal,
    /// In the HTTP answer, all at once; for callers that stream, by calls of its own.
    ExpectReplies,
    /// In the HTTP answer, all at once, for callers that stream too: where the bot cannot call back.
    ExpectRepliesAlways,
    /// In the HTTP answer, as a stream of events.
    Stream,
}

// What stands here of each value is also what users are told of it, in one line.
/// What the end of a bot's turn means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum TurnsAre {
    /// completes the task, unless the bot asked something; the next message of the context goes on in the conversation
    #[default]
    Answers,
    /// as answers, for bots that answer after their turn: it ends with the conversation, or when the bot was quiet for 10s
    Late,
    /// leaves the task working until the bot ends the conversation, which is the task, as Microsoft's hosting for .NET does
    Dotnet,
}

impl TurnsAre {
    /// As the key has it.
    fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// What it means, in a line.
    fn meaning(self) -> String {
        let value = self.to_possible_value();
        let help = value.as_ref().and_then(PossibleValue::get_help);
        help.map_or_else(String::new, ToString::to_string)
    }

    /// The key with each of its values, as comments of a configuration.
    pub(crate) fn explained() -> String {
        let line = |one: &Self| {
            let value = format!("\"{}\"", one.name());
            format!("# turns = {value:<10} # {}\n", one.meaning())
        };
        let lines: String = Self::value_variants().iter().map(line).collect();
        format!(
            "# What the end of a running bot's turn means; answers if nothing is said:\n{lines}"
        )
    }
}

/// What a bot's conversations are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConversationIs {
    /// Each task is one.
    Task,
    /// All tasks of a context are one.
    Context,
}

/// What a turn means that ends without saying so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SilentTurn {
    /// The user may go on.
    InputRequired,
    /// The task is completed.
    Completed,
    /// The bot works on.
    Working,
}

/// What a message is whose id came before from the same caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RepeatsAre {
    /// The same message, which runs nothing and is answered with its task; with other content it is refused.
    Same,
    /// Another message, of a client that uses ids twice.
    Another,
}

/// What ends a turn whose message the bot took without saying when it is done, whichever comes first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EndingConfig {
    /// Whether the bot's HTTP answer does, but for 202; true if absent, false if turns are late.
    pub answer: Option<bool>,
    /// Whether the final piece of a stream does; true if absent.
    pub final_piece: Option<bool>,
    /// Whether a message that expects input does; true if absent.
    pub expecting_input: Option<bool>,
    /// Silence of this length after the last thing that the bot said; 2s if absent.
    pub quiet: Option<Period>,
    /// The same for a bot that had spoken before it took the message; if absent, 50ms until its turns have
    /// shown that it takes messages at the end of them, and nothing from then on.
    pub settle: Option<Period>,
    /// Silence of this length of a bot that has said nothing yet; 60s if absent.
    pub patience: Option<Period>,
}
