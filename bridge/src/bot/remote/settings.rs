//! How a remote bot is hosted.

use std::time::Duration;

use bridge_protocol::{activity::DeliveryMode, translate::SilentEnd};
use url::Url;

use crate::{agent::ConversationScope, bot::TurnMode};

/// How long a bot is quiet that answers after its turn, when it has said all.
const LATE: Duration = Duration::from_secs(10);

/// The channel on which bots of every SDK that is known do best.
pub(crate) const WEBCHAT: &str = "webchat";

/// How a remote bot is hosted. The default works with every SDK that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteSettings {
    /// How the bot is asked to answer.
    pub delivery: Delivery,
    /// The channel that the bot believes to be on. SDKs decide by it how a bot answers: on `webchat`, the
    /// default, those that can stream do, on a channel that they do not know, such as `a2a`, most do not.
    pub channel_id: String,
    /// The language that the users speak, such as `en-US`.
    pub locale: String,
    /// By which id the bot knows the user.
    pub user: UserId,
    /// The bot's account on the channel; the agent's name if absent.
    pub bot_id: Option<String>,
    /// What the bot is called; the agent's name if absent.
    pub bot_name: Option<String>,
    /// What the bot's conversations are.
    pub conversation: ConversationScope,
    /// What a turn means that ends without saying so.
    pub silent_end: SilentEnd,
    /// Whether the bot gets a `conversationUpdate` with `membersAdded` before the first message of a
    /// conversation. Many bots answer it with a welcome.
    pub first_contact: bool,
    /// What ends a turn where the bot's HTTP answer does not tell it.
    pub ending: TurnEndRules,
    /// How long the bot's HTTP answer may take. Most bots answer when their turn has ended.
    pub request_timeout: Duration,
    /// How long a turn may take in all, over a restart of the bridge too; the task fails afterwards.
    pub limit: Duration,
    /// The largest HTTP answer, in bytes; of streamed answers all events together.
    pub answer_limit: usize,
    /// Where the bot reaches the bridge, if not where the others do: a bot in a container sees another
    /// host.
    pub callback_url: Option<Url>,
}

impl Default for RemoteSettings {
    fn default() -> Self {
        Self::with(TurnMode::default())
    }
}

impl RemoteSettings {
    /// Those of a bot whose turns end so.
    pub fn with(turns: TurnMode) -> Self {
        Self {
            delivery: Delivery::default(),
            channel_id: WEBCHAT.into(),
            locale: "en-US".into(),
            user: UserId::default(),
            bot_id: None,
            bot_name: None,
            conversation: turns.conversation(),
            silent_end: turns.silent_end(),
            first_contact: false,
            ending: TurnEndRules::of(turns),
            request_timeout: Duration::from_secs(120),
            limit: Duration::from_secs(300),
            answer_limit: 16 << 20,
            callback_url: None,
        }
    }
}

/// How a bot is asked to answer. However it is asked, each of the three answers is understood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// In the way that every bot knows, which is `normal`: of the others, each makes some bot fail, and a
    /// bot that has failed may have acted on the message, so that it cannot be asked again.
    #[default]
    Auto,
    /// By calls to the service URL.
    Normal,
    /// In the HTTP answer, all at once, where the caller does not watch it come; else as `Normal`, since bots do not
    /// stream then. Bots on botbuilder-python fail, and words that are changed afterwards are not.
    ExpectReplies,
    /// In the HTTP answer, all at once, whoever asks: for bots that cannot call back.
    ExpectRepliesAlways,
    /// In the HTTP answer, as a stream of events. Bots on the Agents SDK for Python fail.
    Stream,
}

impl Delivery {
    /// What the activity says that a caller's message becomes who does or does not watch; normal delivery need not
    /// be said.
    pub(super) fn mode(self, is_watched: bool) -> Option<DeliveryMode> {
        match self {
            Self::Auto | Self::Normal => None,
            Self::ExpectReplies if is_watched => None,
            Self::ExpectReplies | Self::ExpectRepliesAlways => Some(DeliveryMode::ExpectReplies),
            Self::Stream => Some(DeliveryMode::Stream),
        }
    }
}

/// By which id a bot knows the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum UserId {
    /// The caller's own; `unknown` for those who were not asked who they are.
    #[default]
    Caller,
    /// The same for everybody.
    Fixed(String),
}

/// What ends a turn whose message the bot took with 202, which says nothing about its end, or that of a bot that
/// answers after its turn: whichever of these comes first. `endOfConversation` always does, since it ends the
/// task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnEndRules {
    /// Whether the bot's HTTP answer ends it, if that tells: with all but 202 most bots have done their turn.
    pub answer: bool,
    /// Whether the final piece of a stream ends it.
    pub final_piece: bool,
    /// Whether a message that expects input ends it.
    pub expecting_input: bool,
    /// How long after the last thing that the bot said.
    pub quiet: Duration,
    /// The same where the bot had spoken before it answered 202: most such bots have finished by then. `None` is
    /// 50 ms until the bot's own turns have shown that its 202 comes at their end, and nothing from then on.
    pub settle: Option<Duration>,
    /// How long a bot may be silent that has said nothing yet, or that was typing last.
    pub patience: Duration,
}

impl TurnEndRules {
    /// That of a bot whose turns end so.
    fn of(turns: TurnMode) -> Self {
        match turns {
            TurnMode::Answers | TurnMode::Dotnet => Self::default(),
            TurnMode::Late => Self {
                answer: false,
                quiet: LATE,
                settle: Some(LATE),
                ..Self::default()
            },
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
