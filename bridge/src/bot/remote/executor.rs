//! A remote bot as an executor: its turns, from the first call to the end.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bridge_protocol::{
    a2a::{Metadata, Task, TaskState},
    activity::{Activity, ActivityType, DeliveryMode},
    translate::{
        Input, Turn as Machine, TurnContext as Place, answer, sign_in, to_activity, turn::waits_for,
    },
};
use futures_util::future::join;
use tokio::time::timeout;

use super::{
    Ending, RemoteBot,
    acceptance::Acceptance,
    address::Address,
    answer::{Answered, Listener},
    call::{self, CallError},
    channel::Shared,
    heard::{self, Mood},
    lines::{Line, Party},
    request,
    scrub::Scrub,
};
use crate::{
    agent::Conversation,
    bot::{
        executor::unkept,
        pump::{self, LULL, Pump},
    },
    caller::Caller,
    executor::{Executor, Turn, Update},
    store::StoreError,
};

/// A remote bot, called through its channel.
pub(super) struct RemoteExecutor {
    channel: Arc<Shared>,
    bot: Arc<RemoteBot>,
    /// What the bot's turns have shown so far.
    acceptance: Arc<Acceptance>,
}

/// What the calls of one turn have in common.
struct Scene<'a> {
    turn: &'a Turn,
    place: Place,
    scrub: Scrub,
    /// Whether the bot is told first who is there.
    greets: bool,
}

#[async_trait]
impl Executor for RemoteExecutor {
    async fn execute(&self, turn: Turn) -> Vec<Update> {
        let scene = match self.scene(&turn).await {
            Ok(scene) => scene,
            Err(error) => return unprepared(&turn, &error),
        };
        let activity = request::message(&self.channel, &self.bot, &turn, &scene.place).await;
        let activity = match activity {
            Ok(activity) => activity,
            Err(error) => return unprepared(&turn, &error),
        };
        let scene = &scene;
        let talk = async move |line: &Line| self.converse(scene, line, activity).await;
        Box::pin(self.carry(scene, 0, talk)).await
    }

    async fn resume(&self, turn: Turn) -> Vec<Update> {
        let scene = match self.scene(&turn).await {
            Ok(scene) => scene,
            Err(error) => return unprepared(&turn, &error),
        };
        // What was said before the restart has lower numbers.
        let before = turn.handle.known().seq;
        let talk = async |line: &Line| self.wait(&turn, line).await;
        let updates = Box::pin(self.carry(&scene, before, talk)).await;
        repeat(&scene, updates)
    }

    fn enters(&self) {
        self.channel.enter(&self.bot);
    }

    fn leaves(&self) {
        self.channel.leave(&self.bot);
    }

    fn outlives(&self) -> Option<Duration> {
        Some(self.bot.settings.limit)
    }

    async fn canceled(&self, task: Arc<Task>, caller: Caller) {
        if let Err(error) = self.tell_canceled(&task, &caller).await {
            tracing::warn!(task = task.id, %error, "a bot was not told that its task was canceled");
        }
    }
}

impl RemoteExecutor {
    pub(super) fn new(channel: Arc<Shared>, bot: Arc<RemoteBot>) -> Self {
        let acceptance = channel.acceptance(&bot);
        Self {
            channel,
            bot,
            acceptance,
        }
    }

    async fn scene<'a>(&self, turn: &'a Turn) -> Result<Scene<'a>, StoreError> {
        let address = self.address(&turn.task, &turn.caller);
        let secret = self.channel.addresses.secret(&address).await?;
        let id = format!("{}.{}", turn.task.id, turn.number);
        let place = self
            .channel
            .place(&self.bot, &turn.caller, &turn.task, &secret, id);
        Ok(Scene {
            place: Place {
                delivery_mode: self.bot.settings.delivery.mode(turn.is_watched),
                ..place
            },
            scrub: self.channel.scrub(&self.bot, &secret),
            turn,
            greets: self.greets(turn, &address).await?,
        })
    }

    /// Whether the bot is told who is there before the message, because it hears of the conversation for the first time.
    async fn greets(&self, turn: &Turn, address: &Address) -> Result<bool, StoreError> {
        match self.bot.settings.conversation {
            _ if !self.bot.settings.first_contact => Ok(false),
            Conversation::Task => Ok(turn.number == 1),
            Conversation::Context => self.channel.addresses.is_new(address).await,
        }
    }

    fn address(&self, task: &Task, caller: &Caller) -> Address {
        Address {
            agent: self.bot.name.clone(),
            caller: caller.clone(),
            context: task.context_id.clone().unwrap_or_default(),
        }
    }

    /// Carries what the bot says into the log until the talk with it has ended. The ids of what it says
    /// are counted from after `from`.
    async fn carry(
        &self,
        scene: &Scene<'_>,
        from: u64,
        talk: impl AsyncFnOnce(&Line) -> Result<(), CallError>,
    ) -> Vec<Update> {
        let Place {
            task_id,
            activity_id,
            ..
        } = &scene.place;
        let ending = self.bot.settings.ending;
        let party = Party {
            address: self.address(&scene.turn.task, &scene.turn.caller),
            bot: self.bot.clone(),
        };
        let lines = &self.channel.lines;
        let (line, queue) = lines.open(task_id, activity_id, from, ending, party);
        let machine = Machine::new(scene.place.clone(), self.bot.settings.silent_end);
        let artifacts = scene.turn.task.artifacts.iter();
        let machine = machine
            .with_artifacts(artifacts.map(|one| one.artifact_id.clone()))
            .with_unanswered(sign_in::unanswered(&scene.turn.task).cloned());
        // A bot that has not said when it is done may say more until it was quiet for long enough.
        let lull = ending.quiet + LULL;
        let pump = Pump::new(machine, scene.turn.handle.clone(), queue);
        let mut pump = pump.with_lull(lull);
        let talking = async move {
            let how = self.ended(scene.turn, talk(&line)).await;
            drop(line);
            how
        };
        let (how, ()) = join(talking, pump.run()).await;
        let number = scene.turn.number;
        pump.end(how).unwrap_or_else(|error| unkept(&error, number))
    }

    /// How the turn ends: as the talk does, or because it was canceled or took too long.
    async fn ended(&self, turn: &Turn, talk: impl Future<Output = Result<(), CallError>>) -> Input {
        let mut inbox = turn.inbox.clone();
        tokio::select! {
            talked = timeout(self.bot.settings.limit, talk) => match talked {
                Ok(Ok(())) => Input::TurnEnded,
                Ok(Err(error)) => {
                    report(&turn.task.id, &error);
                    Input::Failed(format!("The agent could not answer: {}.", error.told()))
                }
                Err(_) => Input::TimedOut,
            },
            () = inbox.canceled() => Input::Canceled,
        }
    }

    async fn converse(
        &self,
        scene: &Scene<'_>,
        line: &Line,
        activity: Activity,
    ) -> Result<(), CallError> {
        if scene.greets {
            self.greet(scene, line).await;
        }
        match self.call(scene, line, activity).await? {
            Answered::Over if self.bot.settings.ending.answer => {}
            Answered::Over | Answered::Taken => {
                // What it has said is in the log, which tells as much.
                if line.heard().borrow().count == 0 {
                    self.arrived(scene).await;
                }
                self.finished(line).await;
            }
        }
        Ok(())
    }

    /// Waits for the end of a turn that the bot accepted, and learns from it when the next ones end.
    async fn finished(&self, line: &Line) {
        let ending = &self.bot.settings.ending;
        match heard::finished(line.heard(), ending, &self.acceptance).await {
            true => self.acceptance.was_over(),
            false => self.acceptance.was_not_over(),
        }
    }

    /// The bot has taken the message, and answers later: it is logged, so that a restart waits for that too.
    async fn arrived(&self, scene: &Scene<'_>) {
        let reference = Metadata::from_iter([("taken".to_owned(), true.into())]);
        let turn = scene.turn;
        if let Err(error) = turn.handle.has_arrived(turn.number, reference).await {
            tracing::debug!(task = turn.task.id, %error, "that a bot has its message was not logged");
        }
    }

    /// Tells the bot who is there. It is a courtesy: a bot that does not take it still gets the message.
    async fn greet(&self, scene: &Scene<'_>, line: &Line) {
        let greeting = request::greeting(&scene.turn.task, &scene.place);
        if let Err(error) = self.call(scene, line, greeting).await {
            report(&scene.place.task_id, &error);
        }
        line.begin(Mood::Silent);
    }

    async fn call(
        &self,
        scene: &Scene<'_>,
        line: &Line,
        activity: Activity,
    ) -> Result<Answered, CallError> {
        let is_invoke = activity.kind == ActivityType::Invoke;
        let (http, service_url) = (&self.channel.http, &scene.place.service_url);
        let answer = call::post(http, &self.bot, service_url, activity).await?;
        let listener = Listener {
            bot: &self.bot,
            line,
            minds: scene.place.delivery_mode == Some(DeliveryMode::ExpectReplies),
            scrub: &scene.scrub,
            is_invoke,
        };
        listener.listen(answer).await
    }

    /// Waits for a bot that had been called before a restart. If nothing was heard of it, it may not
    /// have begun: then the turn's limit counts.
    async fn wait(&self, turn: &Turn, line: &Line) -> Result<(), CallError> {
        let mut heard = line.heard();
        match turn.task.status.message.is_some() {
            true => line.begin(Mood::Spoken),
            // The line is open for as long as this is waited for.
            false => drop(heard.changed().await),
        }
        let Ending { quiet, .. } = self.bot.settings.ending;
        let ending = Ending {
            settle: Some(quiet),
            ..self.bot.settings.ending
        };
        heard::finished(heard, &ending, &Acceptance::default()).await;
        Ok(())
    }

    /// Tells a bot that knows of the task of its end; what it says to it is dropped.
    async fn tell_canceled(&self, task: &Task, caller: &Caller) -> Result<(), BotTrouble> {
        let address = self.address(task, caller);
        let secret = self.channel.addresses.secret(&address).await?;
        let id = format!("{}.canceled", task.id);
        let place = self.channel.place(&self.bot, caller, task, &secret, id);
        let activity = request::cancel(task, &place);
        let http = &self.channel.http;
        let answer = call::post(http, &self.bot, &place.service_url, activity).await?;
        tracing::debug!(task = task.id, status = %answer.status(), "a bot was told of a cancel");
        Ok(())
    }
}

/// Why a bot was not told something.
#[derive(Debug, thiserror::Error)]
enum BotTrouble {
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("the store failed: {0}")]
    Store(#[from] StoreError),
}

/// After a restart nobody knows what was said before it but the task: its last words are the answer or part of
/// it if the task completes, and else they stay in its status. What they asked is still asked.
fn repeat(scene: &Scene<'_>, mut updates: Vec<Update>) -> Vec<Update> {
    let said = scene.turn.task.status.message.as_ref();
    let (
        Some(said),
        Some(Update::Status {
            state,
            message: message @ None,
            metadata,
        }),
    ) = (said, updates.last_mut())
    else {
        return updates;
    };
    let is_silent = metadata.is_none() && *state != TaskState::Canceled;
    let asked = waits_for(&to_activity::reply(said, &scene.place)).filter(|_| is_silent);
    if let Some(asked) = asked {
        *state = asked;
    }
    if *state == TaskState::Completed {
        let answer = answer::output(said).and_then(pump::update);
        updates.splice(0..0, answer);
    } else {
        *message = Some(said.clone());
    }
    updates
}

fn unprepared(turn: &Turn, error: &StoreError) -> Vec<Update> {
    if !error.is_reported_by_store() {
        tracing::error!(task = turn.task.id, %error, "a bot could not be called");
    }
    let id = format!("{}.{}.unprepared", turn.task.id, turn.number);
    vec![Update::said(
        TaskState::Failed,
        id,
        "The agent could not be called.",
    )]
}

fn report(task: &str, error: &CallError) {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    tracing::warn!(task, %error, cause, "a call of a bot failed");
}
