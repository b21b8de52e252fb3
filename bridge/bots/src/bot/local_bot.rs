//! Hosts a bot in this process and builds its turns.

use std::sync::Arc;

use bridge_protocol::{
    a2a::Task,
    activity::{Activity, ChannelAccount, ConversationAccount},
};
use bridge_translate::{SilentEnd, Translation, TranslationContext, full_activity, sign_in};

use super::{
    Bot, BotSettings, Conversations, TurnContext, log_writer::LogWriter, output::BotOutput,
    state::StoredState,
};
use crate::{
    agent::ConversationScope,
    caller::Caller,
    clock,
    executor::{CancelSignal, TaskHandle},
    store::Store,
};

/// The service URL in activities for bots in this process, which need no address to answer to.
const SERVICE_URL: &str = "urn:activity:in-process";

/// The user id for callers without authentication.
pub(super) const UNKNOWN: &str = "unknown";

/// A bot with its store and its settings.
pub(super) struct LocalBot {
    pub(super) bot: Arc<dyn Bot>,
    pub(super) store: Arc<dyn Store>,
    pub(super) settings: BotSettings,
}

impl LocalBot {
    /// Returns the addresses and ids for the turn that answers the activity with this id.
    pub(super) fn translation_context(
        &self,
        task: &Task,
        caller: &Caller,
        activity_id: String,
    ) -> TranslationContext {
        TranslationContext {
            task_id: task.id.clone(),
            context_id: task.context_id.clone().unwrap_or_default(),
            channel_id: self.settings.channel_id.clone(),
            service_url: SERVICE_URL.into(),
            conversation: ConversationAccount::new(self.conversation(task)),
            user: user(caller),
            bot: ChannelAccount::new(&self.settings.name, &self.settings.name, "agent"),
            activity_id,
            now: format!("{:.3}", clock::now()),
            locale: self.settings.locale.clone(),
            delivery_mode: None,
            in_full: full_activity::is_wanted(task),
        }
    }

    /// Returns a turn, and the writer that logs the bot's output in it.
    pub(super) fn turn(
        self: &Arc<Self>,
        input: TurnInput,
        handle: TaskHandle,
        silent_end: SilentEnd,
    ) -> (TurnContext, LogWriter) {
        let (output, queue) = BotOutput::open(&input.task.id, &input.place.activity_id);
        let machine = Translation::new(input.place.clone(), silent_end)
            .with_unanswered(sign_in::unanswered(&input.task).cloned());
        let log_writer = LogWriter::new(machine, handle, queue);
        (self.context(input, output), log_writer)
    }

    /// Returns a turn in which nothing can be sent any more.
    pub(super) fn closed_turn(self: &Arc<Self>, input: TurnInput) -> TurnContext {
        let output = BotOutput::closed(&input.task.id, &input.place.activity_id);
        self.context(input, output)
    }

    fn context(self: &Arc<Self>, input: TurnInput, output: BotOutput) -> TurnContext {
        let conversation = self.conversation(&input.task);
        let (store, caller) = (self.store.clone(), input.caller.clone());
        TurnContext {
            memory: StoredState::new(store, caller, &self.settings.name, conversation),
            activity: input.activity,
            task: input.task,
            caller: input.caller,
            conversations: Conversations(self.clone()),
            output,
            cancel_signal: input.cancel_signal,
            is_greeting: false,
        }
    }

    fn conversation<'a>(&self, task: &'a Task) -> &'a str {
        match self.settings.conversation {
            ConversationScope::Task => &task.id,
            ConversationScope::Context => task.context_id.as_deref().unwrap_or(&task.id),
        }
    }
}

/// The input of one turn.
pub(super) struct TurnInput {
    pub(super) place: TranslationContext,
    pub(super) activity: Box<Activity>,
    pub(super) task: Arc<Task>,
    pub(super) caller: Caller,
    pub(super) cancel_signal: CancelSignal,
}

fn user(caller: &Caller) -> ChannelAccount {
    let id = if caller.is_anonymous() { UNKNOWN } else { caller.name() };
    ChannelAccount { id: Some(id.into()), role: Some("user".into()), ..ChannelAccount::default() }
}
