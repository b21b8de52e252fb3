//! Runs a bot as an agent.

use std::sync::Arc;

use async_trait::async_trait;
use bridge_protocol::{
    a2a::{Task, TaskState},
    activity::Activity,
};
use bridge_translate::{TranslationContext, click::Click, to_activity};

use super::{
    Bot, BotError, BotSettings, Conversations, SendError, TurnContext,
    bot_turn::{run_bot, turn_end},
    card,
    local_bot::{LocalBot, TurnInput},
};
use crate::{
    agent::{Agent, TurnSettings},
    caller::Caller,
    executor::{CancelSignal, Executor, Turn, Update},
    store::Store,
};

/// The text for users when the log failed during a turn.
const NOT_SAVED: &str = "The agent's output could not be stored.";

/// Runs a bot as an agent: messages become activities for the bot, and the bot's activities become changes of the
/// task.
#[derive(Clone)]
pub struct BotExecutor(Arc<LocalBot>);

impl BotExecutor {
    /// Hosts a bot with these settings; its states are stored in `store`.
    pub fn new(bot: Arc<dyn Bot>, store: Arc<dyn Store>, settings: BotSettings) -> Self {
        Self(Arc::new(LocalBot { bot, store, settings }))
    }

    /// Returns access to the bot's conversations outside of their turns.
    pub fn conversations(&self) -> Conversations {
        Conversations(self.0.clone())
    }

    /// Returns the agent, with the card that the bot provides.
    pub fn into_agent(self) -> Agent {
        let settings = &self.0.settings;
        Agent {
            name: settings.name.as_str().into(),
            card: self.0.bot.card(card::plain(&settings.name)),
            settings: TurnSettings {
                conversation: settings.conversation,
                answers: settings.answers,
                ..TurnSettings::default()
            },
            executor: Arc::new(self),
        }
    }
}

#[async_trait]
impl Executor for BotExecutor {
    async fn execute(&self, turn: Turn) -> Vec<Update> {
        let hosted = &self.0;
        let (task, number, cancel_signal) =
            (turn.task.clone(), turn.number, turn.cancel_signal.clone());
        let handle = turn.handle.clone();
        let input = hosted.turn_input(turn);
        let greeting = hosted.greeting(&input, number);
        let (context, mut log_writer) = hosted.turn(input, handle, hosted.settings.silent_end);
        let bot = hosted.bot.clone();
        let talk = async move |turn: &mut TurnContext| talk(&*bot, turn, greeting).await;
        let outcome = run_bot(context, &mut log_writer, talk).await;
        let how = turn_end(outcome, &task.id, cancel_signal.is_canceled()).await;
        log_writer.end(how).unwrap_or_else(|error| unkept(&error, number))
    }

    async fn canceled(&self, task: Arc<Task>, caller: Caller) {
        let hosted = &self.0;
        let place = hosted.translation_context(&task, &caller, format!("{}.canceled", task.id));
        let id = task.id.clone();
        let mut turn = hosted.closed_turn(TurnInput {
            activity: Box::new(to_activity::cancel(&task, &place)),
            place,
            task,
            caller,
            cancel_signal: CancelSignal::fixed(true),
        });
        let handled = hosted.bot.on_activity(&mut turn).await;
        let kept = match handled {
            Ok(()) => turn.memory.save().await.map_err(BotError::from),
            Err(error) => Err(error),
        };
        if let Err(error) = kept {
            tracing::warn!(task = id, %error, "a bot could not clean up after a canceled task");
        }
    }
}

/// Passes the greeting, if there is one, and then the message to the bot.
async fn talk(
    bot: &dyn Bot,
    turn: &mut TurnContext,
    greeting: Option<Box<Activity>>,
) -> Result<(), BotError> {
    if let Some(greeting) = greeting {
        let message = std::mem::replace(&mut turn.activity, greeting);
        turn.is_greeting = true;
        bot.on_activity(turn).await?;
        (turn.activity, turn.is_greeting) = (message, false);
    }
    bot.on_activity(turn).await
}

/// Returns the changes that end a turn of which something could not be stored.
pub(super) fn unkept(error: &SendError, turn: u64) -> Vec<Update> {
    match error {
        SendError::Ended { .. } => Vec::new(),
        SendError::Unkept { task } => {
            let id = format!("{task}.{turn}.unkept");
            vec![Update::said(TaskState::Failed, id, NOT_SAVED)]
        }
    }
}

impl LocalBot {
    /// Returns the input of the turn that answers a message.
    fn turn_input(&self, turn: Turn) -> TurnInput {
        let activity_id = format!("{}.{}", turn.task.id, turn.number);
        let place = self.translation_context(&turn.task, &turn.caller, activity_id);
        let mut activity = Box::new(to_activity::message(&turn.message, &turn.task, &place));
        if activity.reply_to_id.is_none() {
            let click = Click::of(&activity);
            activity.reply_to_id =
                click.and_then(|click| click.answered(&turn.task, &place.activity_id));
        }
        TurnInput {
            activity,
            place,
            task: turn.task,
            caller: turn.caller,
            cancel_signal: turn.cancel_signal,
        }
    }

    /// Returns the `conversationUpdate` before the first message, with an id of its own, if the bot wants it.
    fn greeting(&self, input: &TurnInput, turn: u64) -> Option<Box<Activity>> {
        let place = || TranslationContext {
            activity_id: format!("{}.0", input.task.id),
            ..input.place.clone()
        };
        let greeting = || Box::new(to_activity::first_contact(&input.task, &place()));
        (turn == 1 && self.bot.wants_conversation_update()).then(greeting)
    }
}
