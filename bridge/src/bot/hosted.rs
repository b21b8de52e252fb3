//! A bot in its place: what its turns are made of.

use std::sync::Arc;

use bridge_protocol::{
    a2a::Task,
    activity::{Activity, ChannelAccount, ConversationAccount},
    translate::{SilentEnd, Turn as Machine, TurnContext as Place, full_activity, sign_in},
};

use super::{
    Bot, BotSettings, Conversations, TurnContext, context::Parts, outbox::Outbox, pump::Pump,
    state::Memory,
};
use crate::{
    agent::Conversation,
    caller::Caller,
    clock,
    executor::{Inbox, TaskHandle},
    store::Store,
};

/// Stands where remote bots find the channel's address: a bot in this process needs none.
const SERVICE_URL: &str = "urn:activity:in-process";

/// The name of callers whom nobody knows.
pub(super) const UNKNOWN: &str = "unknown";

/// A bot, where it remembers, and how it is hosted.
pub(super) struct Hosted {
    pub(super) bot: Arc<dyn Bot>,
    pub(super) store: Arc<dyn Store>,
    pub(super) settings: BotSettings,
}

impl Hosted {
    /// Where a turn takes place that answers the activity with this id.
    pub(super) fn place(&self, task: &Task, caller: &Caller, activity_id: String) -> Place {
        Place {
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

    /// A turn, and what carries into the log what the bot says in it.
    pub(super) fn turn(
        self: &Arc<Self>,
        scene: Scene,
        handle: TaskHandle,
        silent_end: SilentEnd,
    ) -> (TurnContext, Pump) {
        let (outbox, queue) = Outbox::open(&scene.task.id, &scene.place.activity_id);
        let machine = Machine::new(scene.place.clone(), silent_end)
            .with_unanswered(sign_in::unanswered(&scene.task).cloned());
        let pump = Pump::new(machine, handle, queue);
        (self.context(scene, outbox), pump)
    }

    /// A turn in which nothing can be said any more.
    pub(super) fn mute_turn(self: &Arc<Self>, scene: Scene) -> TurnContext {
        let outbox = Outbox::closed(&scene.task.id, &scene.place.activity_id);
        self.context(scene, outbox)
    }

    fn context(self: &Arc<Self>, scene: Scene, outbox: Outbox) -> TurnContext {
        let conversation = self.conversation(&scene.task);
        let (store, caller) = (self.store.clone(), scene.caller.clone());
        TurnContext::new(Parts {
            memory: Memory::new(store, caller, &self.settings.name, conversation),
            activity: scene.activity,
            task: scene.task,
            caller: scene.caller,
            conversations: Conversations::new(self.clone()),
            outbox,
            inbox: scene.inbox,
        })
    }

    fn conversation<'a>(&self, task: &'a Task) -> &'a str {
        match self.settings.conversation {
            Conversation::Task => &task.id,
            Conversation::Context => task.context_id.as_deref().unwrap_or(&task.id),
        }
    }
}

/// What a turn is about.
pub(super) struct Scene {
    pub(super) place: Place,
    pub(super) activity: Box<Activity>,
    pub(super) task: Arc<Task>,
    pub(super) caller: Caller,
    pub(super) inbox: Inbox,
}

fn user(caller: &Caller) -> ChannelAccount {
    let id = match caller.is_anonymous() {
        true => UNKNOWN,
        false => caller.name(),
    };
    ChannelAccount {
        id: Some(id.into()),
        role: Some("user".into()),
        ..ChannelAccount::default()
    }
}
