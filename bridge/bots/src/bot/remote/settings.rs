//! Settings of remote bots.

use std::time::Duration;

use bridge_protocol::activity::DeliveryMode;
use bridge_translate::{QuestionEnd, SilentEnd};
use url::Url;

use crate::{
    agent::ConversationScope,
    bot::{TurnMode, log_writer::FLUSH_DELAY},
};

/// The silence that ends a turn of a bot that answers after its turn.
const LATE: Duration = Duration::from_secs(10);

/// The channel id on which bots of all known SDKs work best.
pub const WEBCHAT: &str = "webchat";

/// Settings of a remote bot. The default works with every known SDK.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteSettings {
    /// The requested form of the bot's answer.
    pub delivery: Delivery,
    /// The channel id in activities. It determines how SDKs answer: on `webchat`, the default, bots stream if they
    /// can; on unknown channels, such as `a2a`, most do not.
    pub channel_id: String,
    /// The language of the users, such as `en-US`.
    pub locale: String,
    /// The id of the user in activities.
    pub user: UserId,
    /// The id of the bot's account; the agent's name if absent.
    pub bot_id: Option<String>,
    /// The name of the bot's account; the agent's name if absent.
    pub bot_name: Option<String>,
    /// The tenant in Microsoft Entra that bots on the channel of Teams are told; the nil UUID if absent.
    pub tenant_id: Option<String>,
    /// The extent of the bot's conversations.
    pub conversation: ConversationScope,
    /// The meaning of a turn that ends without an explicit end.
    pub silent_end: SilentEnd,
    /// The state of the task after a question. [`QuestionEnd::Completed`] needs [`ConversationScope::Context`], in which
    /// the answer begins another task.
    pub question_end: QuestionEnd,
    /// Whether the bot gets a `conversationUpdate` with `membersAdded` before the first message of a conversation.
    /// Many bots answer it with a welcome.
    pub first_contact: bool,
    /// The signals that end a turn if the bot's HTTP answer does not.
    pub ending: TurnEndRules,
    /// The silence of a bot after which those who watch the turn are shown what it has said so far.
    pub shown_after: Duration,
    /// The longest silence of a bot before the end of its HTTP answer, which most bots send at the end of their turn. Each activity
    /// that it sends meanwhile, such as typing, begins a new one.
    pub request_timeout: Duration,
    /// The time limit for a turn, including a restart of the bridge. A longer turn fails the task.
    pub limit: Duration,
    /// The size limit of the bot's HTTP answer, in bytes; for streams, of all events together.
    pub answer_limit: usize,
    /// The bridge's URL for this bot, if it differs from that of other bots: a bot in a container needs another host
    /// name.
    pub callback_url: Option<Url>,
}

impl Default for RemoteSettings {
    fn default() -> Self {
        Self::with(TurnMode::default())
    }
}

impl RemoteSettings {
    /// Returns the default settings for this turn mode.
    pub fn with(turns: TurnMode) -> Self {
        Self {
            delivery: Delivery::default(),
            channel_id: WEBCHAT.into(),
            locale: "en-US".into(),
            user: UserId::default(),
            bot_id: None,
            bot_name: None,
            tenant_id: None,
            conversation: turns.conversation(),
            silent_end: turns.silent_end(),
            question_end: QuestionEnd::default(),
            first_contact: false,
            ending: TurnEndRules::of(turns),
            shown_after: FLUSH_DELAY,
            request_timeout: Duration::from_secs(300),
            limit: Duration::from_secs(1800),
            answer_limit: 16 << 20,
            callback_url: None,
        }
    }
}

/// The requested form of a bot's answer. All three forms are understood, whichever was requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// As [`Delivery::Normal`], which every bot supports. Each of the other forms makes some bots fail, and after a
    /// failure the bot cannot be asked again, since it may have acted on the message.
    #[default]
    Auto,
    /// By calls to the service URL.
    Normal,
    /// All at once in the HTTP answer, if the caller waits for the answer. If the caller streams, does not wait or has set a
    /// webhook, as [`Delivery::Normal`], since bots do not stream in this form. Bots on botbuilder-python fail, and later
    /// changes of messages are not supported.
    ExpectReplies,
    /// All at once in the HTTP answer, for all callers: for bots that cannot call back.
    ExpectRepliesAlways,
    /// As a stream of events in the HTTP answer. Bots on the Agents SDK for Python fail.
    Stream,
}

impl Delivery {
    /// Returns the delivery mode for the activity of a message, depending on whether its caller streams. Normal
    /// delivery needs no mode.
    pub(super) fn mode(self, is_watched: bool) -> Option<DeliveryMode> {
        match self {
            Self::Auto | Self::Normal => None,
            Self::ExpectReplies if is_watched => None,
            Self::ExpectReplies | Self::ExpectRepliesAlways => Some(DeliveryMode::ExpectReplies),
            Self::Stream => Some(DeliveryMode::Stream),
        }
    }
}

/// The id by which a bot knows the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum UserId {
    /// The caller's own id; for callers without authentication `unknown-` and the id of the context, so that they are
    /// not confused.
    #[default]
    Caller,
    /// The same id for all callers.
    Fixed(String),
}

/// The signals that end a turn if the bot accepted the message with 202, which says nothing about the end, or
/// answers after its turn. The first signal ends the turn. `endOfConversation` always does, because it ends the
/// task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnEndRules {
    /// Whether an HTTP answer with another status than 202 ends the turn. Most bots have then completed their turn.
    pub answer: bool,
    /// Whether the final piece of a stream ends the turn.
    pub final_piece: bool,
    /// Whether a message that expects input ends the turn.
    pub expecting_input: bool,
    /// The silence after the bot's last activity that ends the turn.
    pub quiet: Duration,
    /// The silence that ends the turn if the bot had sent activities before its 202; most such bots have finished by
    /// then. `None` means 50 ms until the bot's turns have shown that its 202 comes at their end, and no wait from then
    /// on.
    pub settle: Option<Duration>,
    /// The silence that ends the turn if the bot has sent nothing yet, or only typing.
    pub patience: Duration,
}

impl TurnEndRules {
    /// Returns the rules for this turn mode.
    fn of(turns: TurnMode) -> Self {
        match turns {
            TurnMode::Answers | TurnMode::Dotnet => Self::default(),
            TurnMode::Late => {
                Self { answer: false, quiet: LATE, settle: Some(LATE), ..Self::default() }
            }
        }
    }
}

impl Default for TurnEndRules {
    fn default() -> Self {
        Self {
            answer: true,
            final_piece: true,
            expecting_input: true,
            quiet: Duration::from_secs(2),
            settle: None,
            patience: Duration::from_secs(60),
        }
    }
}
