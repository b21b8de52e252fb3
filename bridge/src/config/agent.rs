//! The settings of an agent, in the configuration file.

use std::{collections::BTreeMap, path::PathBuf};

use clap::{ValueEnum, builder::PossibleValue};
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use super::{
    Accept, AgentName, AgentPath, Auth, CardConfig, CheckConfig, HttpUrl, Period, RetentionConfig,
};

/// An agent: a running bot, or a built-in one.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentConfig {
    /// The name; tasks are stored under it, and the agent is served at /a2a/NAME.
    pub name: AgentName,
    /// The URL at which a running bot accepts activities.
    pub bot: Option<HttpUrl>,
    /// The name of a built-in agent, such as sample.
    #[schemars(with = "Option<String>")]
    pub builtin: Option<Spanned<String>>,
    /// The path at which it is served, in place of /a2a/NAME.
    #[schemars(with = "Option<AgentPath>")]
    pub path: Option<Spanned<AgentPath>>,
    /// A file with the agent's card, of any version of A2A; a relative path starts at the configuration. The
    /// settings in card override it, and the bridge sets the addresses.
    pub card_file: Option<PathBuf>,
    /// The agent's card.
    #[serde(default)]
    pub card: CardConfig,
    /// Additions to the card for authenticated callers: its skills are added.
    pub extended_card: Option<CardConfig>,
    /// The checks of callers' credentials, by the name of the security scheme in the card.
    #[serde(default)]
    pub access: BTreeMap<String, CheckConfig>,
    /// The credential that the bridge sends to the bot; none if absent.
    pub auth: Option<Auth>,
    /// The credential that the bot must send to the bridge; none if absent, which is only allowed on
    /// loopback.
    pub accept: Option<Accept>,
    /// The way in which the bot is asked to answer; auto if absent.
    pub delivery: Option<DeliveryMode>,
    /// The channel reported to the bot; webchat if absent, a2a if the bot is built in.
    pub channel_id: Option<String>,
    /// The users' language; en-US if absent.
    pub locale: Option<String>,
    /// The user id reported to the bot, in place of the caller's own.
    pub user_id: Option<String>,
    /// The bot's id on the channel; the agent's name if absent.
    pub bot_id: Option<String>,
    /// The bot's name on the channel; the agent's name if absent.
    pub bot_name: Option<String>,
    /// The tenant in Microsoft Entra that a bot with the channel msteams is told, such as the one that it requires of its users;
    /// the nil UUID if absent.
    pub tenant_id: Option<String>,
    /// The meaning of the end of a turn; answers if absent. Without this setting a turn of a built-in agent
    /// leaves the task open for the user, and the task is the conversation.
    pub turns: Option<TurnPreset>,
    /// The scope of the bot's conversations: each task, or each context. By turns if absent.
    pub conversation: Option<ConversationScopeConfig>,
    /// The meaning of a turn that ends without a statement of the bot. By turns if absent.
    pub silent_end: Option<SilentTurn>,
    /// The state of a task in which the bot asks something; input-required if absent. completed is for clients that show
    /// artifacts only, and needs the context as the conversation.
    pub question_end: Option<QuestionState>,
    /// Whether the bot gets a conversationUpdate before the first message.
    #[serde(default)]
    pub first_contact: bool,
    /// Whether a turn with one plain message is answered with that message alone, without a task, and other answers are also in
    /// the status: for clients that show no artifacts.
    #[serde(default)]
    pub message_only: bool,
    /// Whether tasks are answered to message/send of 0.3 as {"task": {"state": ..}}, the form of the simplest
    /// agents and their clients.
    #[serde(default)]
    pub flat_results: bool,
    /// The end of a turn where the bot's HTTP answer does not show it.
    #[serde(default)]
    pub ending: EndingConfig,
    /// The length of silence after which those who watch a turn are shown what the bot has said so far; 1s if absent.
    pub shown_after: Option<Period>,
    /// The longest silence of the bot before the end of its HTTP answer: each activity that it sends, such as typing, begins
    /// a new one; 5m if absent.
    pub request_timeout: Option<Period>,
    /// The time limit of a turn; 30m if absent.
    pub turn_limit: Option<Period>,
    /// The number of turns that may wait in one conversation; 16 if absent.
    pub queue: Option<usize>,
    /// The size limit of the bot's HTTP answer, in bytes; 16 MiB if absent.
    pub answer_limit: Option<usize>,
    /// The URL of the bridge for this bot, if it differs from that for others.
    pub callback_url: Option<HttpUrl>,
    /// The treatment of a message with a repeated id from the same caller; same if absent.
    pub repeats: Option<RepeatedMessages>,
    /// The time for which a task may wait for the user's answer; unlimited if absent.
    pub expire_after: Option<Period>,
    /// The rules for keeping ended tasks of this agent; absent settings are taken from store.retention.
    #[serde(default)]
    pub retention: RetentionConfig,
}

impl AgentConfig {
    /// Describes the end of a running bot's turns: the value of `turns` with its meaning, and the keys that
    /// override it.
    pub(crate) fn turns_in_words(&self) -> String {
        let turns = self.turns.unwrap_or_default();
        let over = [
            ("silent_end", self.silent_end.is_some()),
            ("conversation", self.conversation.is_some()),
        ];
        let over = over.iter().filter(|(_, is_said)| *is_said);
        let over: String = over.map(|(key, _)| format!("; {key} overrides it")).collect();
        format!("turns = \"{}\": {}{over}", value_name(&turns), turns.meaning())
    }
}

/// The way in which a bot is asked to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DeliveryMode {
    /// As normal, which works with every bot.
    Auto,
    /// Calls of the bot.
    Normal,
    /// The HTTP answer, with all activities at once; calls of the bot for callers that stream.
    ExpectReplies,
    /// The HTTP answer, with all activities at once, also for callers that stream; for bots that cannot call back.
    ExpectRepliesAlways,
    /// The HTTP answer, as a stream of events.
    Stream,
}

// The doc of each value is also the help text for users, in one line.
/// The meaning of the end of a bot's turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum TurnPreset {
    /// completes the task, unless the bot asked a question; the next message of the context continues the conversation
    #[default]
    Answers,
    /// like answers, for bots that answer after their turn: a turn ends with the conversation, or after 10s of silence
    Late,
    /// leaves the task working until the bot ends the conversation, as in Microsoft's hosting for .NET; each task is a conversation
    Dotnet,
}

impl TurnPreset {
    /// Returns the meaning in one line.
    fn meaning(self) -> String {
        let value = self.to_possible_value();
        let help = value.as_ref().and_then(PossibleValue::get_help);
        help.map_or_else(String::new, ToString::to_string)
    }

    /// Returns the key with each of its values, as comments for a configuration.
    pub(crate) fn explained() -> String {
        let line = |one: &Self| {
            let value = format!("\"{}\"", value_name(one));
            format!("# turns = {value:<10} # {}\n", one.meaning())
        };
        let lines: String = Self::value_variants().iter().map(line).collect();
        format!(
            "# The meaning of the end of a running bot's turn; the default is answers:\n{lines}"
        )
    }
}

/// Returns the name of a value, in the file and on the command line.
pub(crate) fn value_name(value: &impl ValueEnum) -> String {
    let value = value.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}

/// The scope of a bot's conversations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConversationScopeConfig {
    /// Each task is a conversation.
    Task,
    /// Each context is a conversation.
    Context,
}

/// The meaning of a turn that ends without a statement of the bot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SilentTurn {
    /// The user may continue the task.
    InputRequired,
    /// The task is completed.
    Completed,
    /// The bot is still working.
    Working,
}

/// The state of a task in which the bot asks something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QuestionState {
    /// The task waits for the answer.
    InputRequired,
    /// The question is the answer of its task, and the user's answer begins the next task of the context.
    Completed,
}

/// The treatment of a message with a repeated id from the same caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RepeatedMessages {
    /// The same message, which runs nothing and is answered with its task; it is refused if its content
    /// differs.
    Same,
    /// A new message, for clients that use ids twice.
    Another,
}

/// The events that end a turn if the bot has accepted the message without saying when it is done; the first
/// one counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EndingConfig {
    /// Whether the bot's HTTP answer ends the turn, except 202; true if absent, false if turns are late.
    pub answer: Option<bool>,
    /// Whether the final piece of a stream ends the turn; true if absent.
    pub final_piece: Option<bool>,
    /// Whether a message that expects input ends the turn; true if absent.
    pub expecting_input: Option<bool>,
    /// The length of silence after the bot's last output that ends the turn; 2s if absent.
    pub quiet: Option<Period>,
    /// The length of silence that ends the turn of a bot that answered before it accepted the message; if absent, 50ms
    /// until its turns have shown that it accepts messages at their end, and zero from then on.
    pub settle: Option<Period>,
    /// The length of silence that ends the turn of a bot without any output; 60s if absent.
    pub patience: Option<Period>,
}
