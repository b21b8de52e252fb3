//! Runs the turns of a remote bot, from the first call to the end.

use std::{pin::pin, sync::Arc, time::Duration};

use async_trait::async_trait;
use bridge_http::Connections;
use bridge_protocol::{
    a2a::{Metadata, Task, TaskState},
    activity::{Activity, ActivityType, DeliveryMode},
};
use bridge_translate::{
    Input, Translation, TranslationContext, answer, sign_in, to_activity, turn::waits_for,
};
use futures_util::future::{Either, join, select};
use tokio::{sync::watch, time::timeout};

use super::{
    RemoteBot, TurnEndRules,
    acceptance_timing::AcceptanceTiming,
    call::{self, CallError},
    call_log::CallLog,
    channel::ChannelInner,
    open_turns::{OpenTurn, TurnOwner},
    redactor::Redactor,
    request,
    response::{ResponseOutcome, ResponseReader},
    service_url::ServiceUrlScope,
    turn_progress::{self, ProgressState, TurnProgress},
};
use crate::{
    agent::ConversationScope,
    bot::{
        executor::unkept,
        log_writer::{self, LogWriter},
    },
    caller::Caller,
    executor::{Executor, Turn, Update},
    store::{Result, StoreError},
};

/// Calls a remote bot through its channel.
pub(super) struct RemoteExecutor {
    pub(super) channel: Arc<ChannelInner>,
    pub(super) bot: Arc<RemoteBot>,
    http: Connections,
    /// The timing of the bot's 202.
    acceptance: Arc<AcceptanceTiming>,
    log: CallLog,
}

/// The common data of the calls of one turn.
struct RemoteTurn {
    /// The turn, without the history of its task.
    turn: Turn,
    place: TranslationContext,
    redactor: Redactor,
    /// The id of the message whose card or button the user has clicked.
    clicked: Option<String>,
    /// Whether a greeting is sent before the message.
    sends_greeting: bool,
    /// Whether the bot has asked the user to sign in, and the message may do so.
    awaits_sign_in: bool,
}

#[async_trait]
impl Executor for RemoteExecutor {
    async fn execute(&self, turn: Turn) -> Vec<Update> {
        let (task, number) = (turn.task.id.clone(), turn.number);
        let updates = self.begin(turn).await;
        updates.unwrap_or_else(|error| preparation_failure(&task, number, &error))
    }

    async fn resume(&self, turn: Turn) -> Vec<Update> {
        let (task, number) = (turn.task.id.clone(), turn.number);
        let updates = self.go_on(turn).await;
        updates.unwrap_or_else(|error| preparation_failure(&task, number, &error))
    }

    fn on_added(&self) {
        self.channel.register(&self.bot);
    }

    fn on_removed(&self) {
        self.channel.unregister(&self.bot);
    }

    fn survives_restart_for(&self) -> Option<Duration> {
        Some(self.bot.settings.limit)
    }

    async fn canceled(&self, task: Arc<Task>, caller: Caller) {
        if let Err(error) = self.notify_canceled(&task, &caller).await {
            tracing::warn!(task = task.id, %error, "a bot could not be notified of the cancelation of its task");
        }
    }
}

impl RemoteExecutor {
    pub(super) fn new(channel: Arc<ChannelInner>, bot: Arc<RemoteBot>) -> Self {
        let acceptance = channel.acceptance(&bot);
        let http = channel.http.to_another_server();
        Self { channel, bot, http, acceptance, log: CallLog::default() }
    }

    /// Runs a new turn.
    async fn begin(&self, turn: Turn) -> Result<Vec<Update>> {
        let (mut remote_turn, machine) = self.prepare(turn).await?;
        let RemoteTurn { turn, place, .. } = &remote_turn;
        let activity = self.message(turn, place).await?;
        remote_turn.clicked.clone_from(&activity.reply_to_id);
        remote_turn.turn.release_history();
        let remote_turn = &remote_turn;
        let talk = async move |open_turn: &OpenTurn| {
            self.call_and_wait(remote_turn, open_turn, activity).await
        };
        Ok(Box::pin(self.run_turn(remote_turn, machine, 0, talk)).await)
    }

    /// Runs the rest of a turn that had begun before a restart.
    async fn go_on(&self, turn: Turn) -> Result<Vec<Update>> {
        let (mut remote_turn, machine) = self.prepare(turn).await?;
        let RemoteTurn { turn, place, .. } = &remote_turn;
        remote_turn.clicked = self.message_with_data(turn, place).await?.reply_to_id;
        remote_turn.turn.release_history();
        let turn = &remote_turn.turn;
        // Activities before the restart have lower numbers.
        let before = turn.handle.known().seq;
        let talk = async |open_turn: &OpenTurn| self.wait_after_restart(turn, open_turn).await;
        let updates = Box::pin(self.run_turn(&remote_turn, machine, before, talk)).await;
        Ok(restore_last_message(&remote_turn, updates))
    }

    /// Returns the data of a turn and the state machine that translates the bot's activities.
    async fn prepare(&self, turn: Turn) -> Result<(RemoteTurn, Translation)> {
        let settings = &self.bot.settings;
        let scope = self.scope(&turn.task, &turn.caller);
        let secret = self.channel.service_urls.secret(&scope).await?;
        let id = format!("{}.{}", turn.task.id, turn.number);
        let place =
            self.channel.translation_context(&self.bot, &turn.caller, &turn.task, &secret, id);
        let delivery_mode = settings.delivery.mode(turn.is_watched);
        let place = TranslationContext { delivery_mode, ..place };
        let artifacts = turn.task.artifacts.iter();
        let unanswered = sign_in::unanswered(&turn.task).cloned();
        let awaits_sign_in = unanswered.is_some();
        let machine = Translation::new(place.clone(), settings.silent_end)
            .with_artifacts(artifacts.map(|one| one.artifact_id.clone()))
            .with_task_ids()
            .with_unanswered(unanswered)
            .with_question_end(settings.question_end)
            .watched(turn.is_watched);
        let sends_greeting = self.sends_greeting(&turn, &scope).await?;
        let redactor = self.channel.redactor(&self.bot, &secret);
        let clicked = None;
        let remote_turn =
            RemoteTurn { turn, place, redactor, clicked, sends_greeting, awaits_sign_in };
        Ok((remote_turn, machine))
    }

    /// Returns whether a greeting is sent before the message because the bot does not know the conversation.
    async fn sends_greeting(&self, turn: &Turn, scope: &ServiceUrlScope) -> Result<bool> {
        match self.bot.settings.conversation {
            _ if !self.bot.settings.first_contact => Ok(false),
            ConversationScope::Task => Ok(turn.number == 1),
            ConversationScope::Context => self.channel.service_urls.is_first_contact(scope).await,
        }
    }

    fn scope(&self, task: &Task, caller: &Caller) -> ServiceUrlScope {
        ServiceUrlScope {
            agent: self.bot.name.clone(),
            caller: caller.clone(),
            context: task.context_id.clone().unwrap_or_default(),
        }
    }

    /// Logs the bot's activities until `talk` has ended. Their ids are numbered from `from + 1`.
    async fn run_turn(
        &self,
        remote_turn: &RemoteTurn,
        machine: Translation,
        from: u64,
        talk: impl AsyncFnOnce(&OpenTurn) -> Result<(), CallError>,
    ) -> Vec<Update> {
        let TranslationContext { task_id, activity_id, .. } = &remote_turn.place;
        let owner = TurnOwner {
            scope: self.scope(&remote_turn.turn.task, &remote_turn.turn.caller),
            bot: self.bot.clone(),
            clicked: remote_turn.clicked.clone(),
        };
        let open_turns = &self.channel.open_turns;
        let (open_turn, queue) = open_turns.open(task_id, activity_id, from, owner);
        let machine = machine.with_clicked(remote_turn.clicked.clone());
        let mut log_writer = LogWriter::new(machine, remote_turn.turn.handle.clone(), queue)
            .flush_after(self.bot.settings.shown_after);
        let talking = async move {
            let how = self.end_of_turn(&remote_turn.turn, talk(&open_turn)).await;
            drop(open_turn);
            how
        };
        let (how, ()) = join(talking, log_writer.run()).await;
        let number = remote_turn.turn.number;
        log_writer.end(how).unwrap_or_else(|error| unkept(&error, number))
    }

    /// Waits for the end of `talk`, a cancelation or the time limit, and returns how the turn ends.
    async fn end_of_turn(
        &self,
        turn: &Turn,
        talk: impl Future<Output = Result<(), CallError>>,
    ) -> Input {
        tokio::select! {
            talked = timeout(self.bot.settings.limit, talk) => match talked {
                Ok(Ok(())) => Input::TurnEnded,
                Ok(Err(error)) => {
                    self.log.failed(&self.bot, &turn.task.id, &error);
                    Input::Failed(format!("The agent could not answer: {}.", error.told()))
                }
                Err(_) => {
                    let (agent, limit) = (&self.bot.name, self.bot.settings.limit);
                    tracing::warn!(agent, task = turn.task.id, ?limit, "a bot did not end its turn in time");
                    Input::TimedOut
                }
            },
            () = turn.cancel_signal.canceled() => Input::Canceled,
        }
    }

    async fn call_and_wait(
        &self,
        remote_turn: &RemoteTurn,
        open_turn: &OpenTurn,
        activity: Activity,
    ) -> Result<(), CallError> {
        if remote_turn.sends_greeting {
            self.greet(remote_turn, open_turn).await;
        }
        let is_invoke = activity.kind == ActivityType::Invoke;
        let outcome = self.call_and_note(remote_turn, open_turn, activity).await?;
        open_turn.record_answer();
        let before = open_turn.progress().borrow().count;
        match outcome {
            ResponseOutcome::TurnOver if self.bot.settings.ending.answer => {
                // A bot that was asked for all in its answer says nothing after it.
                if remote_turn.place.delivery_mode.is_none() {
                    self.wait_if_silent(open_turn).await;
                }
            }
            ResponseOutcome::TurnOver | ResponseOutcome::Accepted => {
                // Activities in the log show the same. Typing is not logged.
                if open_turn.progress().borrow().is_unlogged() {
                    self.log_arrival(remote_turn).await;
                }
                self.wait_until_finished(open_turn).await;
            }
        }
        let may_continue = is_invoke || outcome == ResponseOutcome::Accepted;
        if may_continue && remote_turn.awaits_sign_in {
            self.wait_after_sign_in(open_turn, is_invoke).await;
        }
        if let Some(reason) = open_turn.refusal() {
            return Err(CallError::Refused(reason));
        }
        // A bot that streams before it answers the request only, and does not end the stream, has said all.
        let state = *open_turn.progress().borrow();
        if state.progress == TurnProgress::Streaming && state.count > before {
            return Err(CallError::BrokenOff);
        }
        if outcome == ResponseOutcome::Accepted
            && state.is_unlogged()
            && let Some(gone) = call::gone(&self.http, &self.bot).await
        {
            return Err(gone);
        }
        let agent = &self.bot.name;
        self.log.succeeded(agent);
        if open_turn.progress().borrow().count == 0 {
            let callback = self.channel.callback_base(&self.bot);
            self.log.was_silent(agent, &remote_turn.turn.task.id, callback);
        }
        Ok(())
    }

    /// Sends the message. A bot that is typing has it, although its answer may take minutes: this is logged at once.
    async fn call_and_note(
        &self,
        remote_turn: &RemoteTurn,
        open_turn: &OpenTurn,
        activity: Activity,
    ) -> Result<ResponseOutcome, CallError> {
        let mut progress = open_turn.progress();
        let typing = async move {
            let is_at_work = |state: &ProgressState| {
                matches!(state.progress, TurnProgress::AtWork | TurnProgress::Streaming)
            };
            // The turn is open meanwhile, so that waiting does not fail.
            drop(progress.wait_for(is_at_work).await);
        };
        let call = Box::pin(self.call(remote_turn, open_turn, activity));
        match select(call, pin!(typing)).await {
            Either::Left((outcome, _)) => outcome,
            Either::Right(((), call)) => join(call, self.log_arrival(remote_turn)).await.0,
        }
    }

    /// Waits for the end of a turn that the bot accepted with 202, and records whether it was over at that time.
    async fn wait_until_finished(&self, open_turn: &OpenTurn) {
        let ending = &self.bot.settings.ending;
        match turn_progress::wait_until_finished(open_turn.progress(), ending, &self.acceptance)
            .await
        {
            Some(true) => self.acceptance.record_over(),
            Some(false) => self.acceptance.record_not_over(),
            None => self.acceptance.record_silent_acceptance(),
        }
    }

    /// Waits for a bot that has said nothing, or is typing: some answer the request at once and work on in the background.
    async fn wait_if_silent(&self, open_turn: &OpenTurn) {
        let mut progress = open_turn.progress();
        if !progress.borrow_and_update().is_unlogged() {
            self.acceptance.record_answer_at_end();
            return;
        }
        let patience = (self.acceptance).patience_after_answer(&self.bot.settings.ending);
        if timeout(patience, progress.changed()).await.is_err() {
            self.acceptance.record_silence();
            return;
        }
        self.acceptance.record_answer_at_beginning();
        self.wait_until_quiet(progress, self.bot.settings.ending.quiet).await;
    }

    /// Waits for a bot that has said nothing to what may be a sign-in: the Agents SDKs answer first, whatever the status, and
    /// then repeat the turn that needed it.
    async fn wait_after_sign_in(&self, open_turn: &OpenTurn, is_invoke: bool) {
        let mut progress = open_turn.progress();
        // The response to an invoke is counted, too.
        if progress.borrow_and_update().count > u64::from(is_invoke) {
            return;
        }
        let quiet = self.bot.settings.ending.quiet;
        if timeout(quiet, progress.changed()).await.is_ok() {
            self.wait_until_quiet(progress, quiet).await;
        }
    }

    /// Waits until a bot seems to have finished that speaks at a time that its answer does not tell.
    async fn wait_until_quiet(&self, progress: watch::Receiver<ProgressState>, quiet: Duration) {
        let ending = self.bot.settings.ending;
        let ending = TurnEndRules { quiet, settle: Some(quiet), ..ending };
        turn_progress::wait_until_finished(progress, &ending, &AcceptanceTiming::default()).await;
    }

    /// Logs that the bot has the message and will answer later, so that the turn stays open over a restart.
    async fn log_arrival(&self, remote_turn: &RemoteTurn) {
        let reference = Metadata::from_iter([("taken".to_owned(), true.into())]);
        let turn = &remote_turn.turn;
        if let Err(error) = turn.handle.record_arrival(turn.number, reference).await {
            tracing::debug!(task = turn.task.id, %error, "the arrival of a message at its bot was not logged");
        }
    }

    /// Sends the greeting. If the bot does not accept it, it still gets the message.
    async fn greet(&self, remote_turn: &RemoteTurn, open_turn: &OpenTurn) {
        let greeting = request::greeting(&remote_turn.turn.task, &remote_turn.place);
        if let Err(error) = self.call(remote_turn, open_turn, greeting).await {
            self.log.failed(&self.bot, &remote_turn.place.task_id, &error);
        }
        open_turn.reset_progress(TurnProgress::Silent);
    }

    async fn call(
        &self,
        remote_turn: &RemoteTurn,
        open_turn: &OpenTurn,
        activity: Activity,
    ) -> Result<ResponseOutcome, CallError> {
        let is_invoke = activity.kind == ActivityType::Invoke;
        let service_url = &remote_turn.place.service_url;
        let (answer, credential) =
            call::post(&self.http, &self.bot, service_url, activity, Some(open_turn.progress()))
                .await?;
        let listener = ResponseReader {
            bot: &self.bot,
            open_turn,
            expects_replies: remote_turn.place.delivery_mode == Some(DeliveryMode::ExpectReplies),
            redactor: &remote_turn.redactor,
            credential,
            is_invoke,
        };
        listener.read(answer).await
    }

    /// Waits for a bot that was called before a restart. If the bot has sent nothing so far, it may not have begun.
    async fn wait_after_restart(&self, turn: &Turn, open_turn: &OpenTurn) -> Result<(), CallError> {
        let mut progress = open_turn.progress();
        match turn.task.status.message.is_some() {
            true => open_turn.reset_progress(TurnProgress::Spoken),
            false => {
                // The turn is open meanwhile, so that waiting does not fail.
                let limit = self.bot.settings.request_timeout;
                let spoken = timeout(limit, progress.changed()).await;
                drop(spoken.map_err(|_| CallError::Late(limit))?);
            }
        }
        let ending = &self.bot.settings.ending;
        // The answer that would end the turn cannot arrive, and turns that are open at a restart are those of slow bots.
        let quiet = if ending.answer { ending.quiet.max(ending.patience) } else { ending.quiet };
        self.wait_until_quiet(progress, quiet).await;
        Ok(())
    }

    /// Notifies a bot of the cancelation of a task that it knows. Its answer is dropped.
    async fn notify_canceled(&self, task: &Task, caller: &Caller) -> Result<(), String> {
        let scope = self.scope(task, caller);
        let secret = self.channel.service_urls.secret(&scope).await;
        let secret = secret.map_err(|error| format!("the store failed: {error}"))?;
        let id = format!("{}.canceled", task.id);
        let place = self.channel.translation_context(&self.bot, caller, task, &secret, id);
        let activity = request::cancel(task, &place);
        let answer = call::post(&self.http, &self.bot, &place.service_url, activity, None).await;
        let (answer, _) = answer.map_err(|error| error.logged(&self.bot))?;
        tracing::debug!(task = task.id, status = %answer.status(), "a bot was notified of a cancelation");
        Ok(())
    }
}

/// Completes the last changes of a turn that was resumed after a restart, when earlier activities are known only
/// from the task. The message of the task's status becomes a part of the answer if the task completes; otherwise it
/// stays in the status. If it asked for something, the task keeps waiting for that.
fn restore_last_message(remote_turn: &RemoteTurn, mut updates: Vec<Update>) -> Vec<Update> {
    let status_message = remote_turn.turn.task.status.message.as_ref();
    let (Some(status_message), Some(Update::Status { state, message: message @ None, metadata })) =
        (status_message, updates.last_mut())
    else {
        return updates;
    };
    let is_silent = metadata.is_none() && *state != TaskState::Canceled;
    let asked =
        waits_for(&to_activity::reply(status_message, &remote_turn.place)).filter(|_| is_silent);
    if let Some(asked) = asked {
        *state = asked;
    }
    if *state == TaskState::Completed {
        let answer = answer::output(status_message).and_then(log_writer::update);
        updates.splice(0..0, answer);
    } else {
        *message = Some(status_message.clone());
    }
    updates
}

fn preparation_failure(task: &str, turn: u64, error: &StoreError) -> Vec<Update> {
    if !error.is_reported_by_store() {
        tracing::error!(task, %error, "a bot could not be called");
    }
    let id = format!("{task}.{turn}.unprepared");
    vec![Update::said(TaskState::Failed, id, "The agent could not be called.")]
}
