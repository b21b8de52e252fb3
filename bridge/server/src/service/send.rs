//! SendMessage and SendStreamingMessage (specification 3.1.1, 3.1.2).

use std::sync::Arc;

use bridge_program::read_response;
use bridge_protocol::{
    a2a::{Role, SendMessageRequest, SendMessageResponse, Task, TaskState},
    wire::FieldError,
};
use tokio::time::timeout;

use super::{
    Context, Position, Result, Service, StreamItems, bare_message,
    draining::send_again,
    error,
    history::{self, with_history},
    sequence, task_stream,
};
use crate::{
    LogReader, run_to_completion,
    store::{
        Event, Head, ListQuery, Seq, Snapshot, StoreError, StoredEvent, Turn, TurnState, size,
    },
    turns::{IncomingMessage, Submitted, snapshot_at},
};

/// The size limit for each id of a message, in bytes. The store keeps them together, within a limit of its own.
const ID_LIMIT: usize = 4 << 10;

/// The states of tasks that have not ended.
const OPEN: [TaskState; 4] =
    [TaskState::Submitted, TaskState::Working, TaskState::InputRequired, TaskState::AuthRequired];

/// Returns the approximate size of an answer as JSON, in bytes.
pub(super) fn answer_size(answer: &SendMessageResponse<Arc<Task>>) -> usize {
    match answer {
        SendMessageResponse::Task(task) => size::task(task),
        SendMessageResponse::Message(_) => 0,
    }
}

impl Service {
    /// Sends a message and returns the task: at once if requested, otherwise in the first final or interrupted state
    /// after the message, or in its current state when the wait limit is reached. An agent with
    /// `AnswerKind::Messages` may be answered with a bare message, see [`AnswerKind`](crate::agent::AnswerKind).
    ///
    /// # Errors
    /// The errors of the protocol, as for all operations.
    pub async fn send_message(
        &self,
        context: &Context,
        request: SendMessageRequest,
    ) -> Result<SendMessageResponse<Arc<Task>>> {
        let configuration = request.configuration.as_ref();
        let returns_at_once = configuration.is_some_and(|wanted| wanted.return_immediately);
        let history = configuration.and_then(|wanted| wanted.history_length);
        let bare_reply = (!returns_at_once).then(|| self.bare_reply(context, &request)).flatten();
        let submitted = self.submit(context, request, returns_at_once).await?;
        let mut settled = None;
        if !returns_at_once {
            // At the limit, the task is returned in its current state.
            let waiting =
                timeout(self.settings.wait, self.wait_for_answer_or_failure(context, &submitted));
            settled = waiting.await.ok().transpose()?.flatten();
        }
        let read = || async {
            let snapshot = match &settled {
                Some(head) => self.task_at_answer(context, &submitted, head).await,
                None => {
                    let store = self.turns.store();
                    store.task(&context.caller, &submitted.task).await
                }
            };
            let Snapshot { task, seq, .. } = snapshot.map_err(error::of_store)?;
            let bare_reply = bare_reply.as_ref();
            Ok(match bare_reply.and_then(|bare_reply| bare_reply.answer(&task)) {
                Some(message) => SendMessageResponse::Message(message),
                None => {
                    let task = with_history(task, history);
                    SendMessageResponse::Task(sequence::numbered(context, task, seq))
                }
            })
        };
        let name = || history::sized_name(&context.caller, &submitted.task, history);
        read_response(Some(name), read, answer_size).await
    }

    /// Sends a message and streams the task's changes until its turn has ended. While the turn is queued, the stream
    /// shows the changes by earlier turns, as do all streams of the task (specification 3.5.2). It does not end with
    /// an earlier turn unless the task ends.
    /// With `Last-Event-ID`, the stream of an earlier request is resumed and shows only later events.
    ///
    /// # Errors
    /// If the message is refused, as by [`Service::send_message`], or the store fails. What happens later ends the stream.
    pub async fn send_streaming_message(
        &self,
        context: &Context,
        request: SendMessageRequest,
    ) -> Result<StreamItems> {
        let history = request.configuration.as_ref().and_then(|wanted| wanted.history_length);
        let bare_reply = self.bare_reply(context, &request);
        let submitted = self.submit(context, request, true).await?;
        let end = task_stream::StreamEnd::Turn {
            turn: submitted.turn,
            message: submitted.message,
            begun: submitted.has_begun.then_some(submitted.last),
        };
        match &context.last_event {
            Some(last) if last.task == submitted.task => {
                // A store that was restored from a copy may have fewer events than the client has seen, and its next
                // events have the same numbers.
                let known = match submitted.repeated {
                    true => self.head(context, &submitted.task).await?.seq,
                    false => submitted.last,
                };
                let position = Position { task: submitted.task, seq: last.seq.min(known) };
                Ok(task_stream::after(self, context, position, end))
            }
            Some(_) | None => {
                let Submitted { task, last: seq, .. } = submitted;
                let position = Position { task, seq };
                let Some(bare_reply) = bare_reply else {
                    return task_stream::from(self, context, position, end, history).await;
                };
                let (service, context) = (self.clone(), context.clone());
                Ok(bare_message::bare_or_stream(
                    bare_reply.stream(service.clone(), context.clone(), position.clone()),
                    async move { task_stream::from(&service, &context, position, end, history).await },
                ))
            }
        }
    }

    async fn submit(
        &self,
        context: &Context,
        mut request: SendMessageRequest,
        is_watched: bool,
    ) -> Result<Submitted> {
        check(&request)?;
        // The sender of a message is the user of this agent (specification 4.1.5), although some clients, which are
        // agents themselves, name another role.
        request.message.role = Role::User;
        let seen = sequence::seen(&mut request)?;
        self.check_media_types(context, &request.message)?;
        self.add_active_extensions(context, &mut request.message)?;
        let configuration = request.configuration.as_ref();
        let is_pushed =
            configuration.is_some_and(|one| one.task_push_notification_config.is_some());
        // Boxed because few messages come with a setting.
        let push = match is_pushed {
            true => Box::pin(self.checked_push(context, &request)).await?,
            false => None,
        };
        if request.message.task_id.is_none() {
            // Boxed because the store is rarely asked.
            Box::pin(self.may_create_task(context)).await?;
        }
        let message_id = request.message.message_id.clone();
        let incoming = IncomingMessage {
            agent: Arc::clone(&context.agent),
            caller: context.caller.clone(),
            message: request.message,
            client_id: context.client_id.clone(),
            metadata: request.metadata,
            seen,
            is_watched: is_watched || push.is_some(),
        };
        match push {
            None => self.turns.submit(incoming).await.map_err(error::of_turn),
            Some(push) => {
                let (service, caller) = (self.clone(), context.caller.clone());
                let keeping = async move {
                    let submitted = service.turns.submit(incoming).await;
                    let submitted = submitted.map_err(error::of_turn)?;
                    service.keep_push(&caller, push, &message_id, &submitted).await?;
                    Ok(submitted)
                };
                Box::pin(run_to_completion(keeping)).await
            }
        }
    }

    /// Waits for the answer, or for the error that the store does not accept it, or that the service stops. Then a repetition of
    /// the message gets the answer.
    async fn wait_for_answer_or_failure(
        &self,
        context: &Context,
        submitted: &Submitted,
    ) -> Result<Option<Arc<Head>>> {
        tokio::select! {
            biased;
            settled = self.wait_for_answer(context, submitted) => settled,
            refusal = self.turns.unlogged_end(&submitted.task, submitted.turn) => Err(error::of_unlogged_end(refusal)),
            () = self.draining.over() => Err(send_again()),
        }
    }

    /// Waits for the first event after the message that ends or interrupts the task or its turn, and returns the
    /// task's head as of then; `None` if the store is closed first.
    async fn wait_for_answer(
        &self,
        context: &Context,
        submitted: &Submitted,
    ) -> Result<Option<Arc<Head>>> {
        let store = self.turns.store();
        let watch = store.watch(&context.caller, &submitted.task).await;
        let mut watch = watch.map_err(error::of_store)?;
        // The events that were logged with the message only start its turn.
        let mut seen = submitted.last;
        while let Some(head) = watch.after(seen).await {
            // A turn that leaves the task working has not answered yet (specification 3.2.2).
            let is_over = head.turns.iter().all(|open| open.turn != submitted.turn);
            let ended = is_over && head.state.is_interrupted();
            if ended || head.state.is_terminal() {
                return Ok(Some(head));
            }
            // The head is the newest one: the task may have been interrupted in between.
            let interrupted = self.was_interrupted(context, &head, submitted.turn, seen).await;
            if interrupted.map_err(error::of_store)? {
                return Ok(Some(head));
            }
            seen = head.seq;
        }
        Ok(None)
    }

    /// Returns whether the turn has interrupted the task after `seen`, up to the head. Interruptions by earlier turns
    /// do not count.
    async fn was_interrupted(
        &self,
        context: &Context,
        head: &Head,
        turn: u64,
        seen: Seq,
    ) -> Result<bool, StoreError> {
        let waits = |open: &Turn| open.turn == turn && open.state == TurnState::Queued;
        if head.turns.iter().any(waits) {
            return Ok(false);
        }
        let mut interrupted = false;
        let store = self.turns.store();
        let mut log = LogReader::after(seen, &**store, &context.caller, &head.task);
        while let Some(stored) = log.next().await? {
            match stored.event {
                Event::TurnStarted { turn: started, .. } if started == turn => interrupted = false,
                Event::Status { status, .. } => interrupted |= status.state.is_interrupted(),
                _ => {}
            }
        }
        Ok(interrupted)
    }

    /// Returns the task as of the event with which the turn of this message ended or asked for input, without the effects of
    /// later turns. `head` is a head at or after that event.
    async fn task_at_answer(
        &self,
        context: &Context,
        submitted: &Submitted,
        head: &Head,
    ) -> Result<Snapshot, StoreError> {
        let (store, caller, task) = (&**self.turns.store(), &context.caller, &submitted.task);
        let now = store.task(caller, task).await?;
        // Usually there are no later events. A repeated message gets the current state.
        let is_last = now.seq == head.seq && head.last_turn == submitted.turn;
        if is_last || submitted.repeated {
            return Ok(now);
        }
        let (mut has_begun, mut answer_end) = (false, None);
        let mut log = LogReader::after(submitted.message, store, caller, task);
        while let Some(StoredEvent { seq, event, .. }) = log.next().await? {
            let is_settled = match event {
                Event::TurnStarted { turn, .. } if turn == submitted.turn => {
                    has_begun = true;
                    false
                }
                Event::TurnEnded { turn } => turn == submitted.turn,
                Event::Status { status, .. } => {
                    let asks = has_begun && status.state.is_interrupted();
                    seq > submitted.last && (asks || status.state.is_terminal())
                }
                // Events that come with the next message are not part of this answer.
                Event::Message(_) | Event::TurnQueued { .. } | Event::TurnStarted { .. }
                    if answer_end.is_some() =>
                {
                    break;
                }
                _ => false,
            };
            if is_settled || answer_end.is_some() {
                answer_end = Some(seq);
            }
        }
        match answer_end {
            Some(answer_end) => snapshot_at(store, caller, task, answer_end).await,
            None => Ok(now),
        }
    }

    /// Refuses a new task of a caller that has too many which have not ended. A repeated message is refused too; it
    /// can be sent again later.
    async fn may_create_task(&self, context: &Context) -> Result<()> {
        let (agent, owner) = (&context.agent, &context.caller);
        let open_tasks = async {
            let mut open = 0;
            for state in OPEN {
                let query = ListQuery {
                    state: Some(state),
                    page_size: 1,
                    artifacts: false,
                    history: Some(0),
                    ..ListQuery::of(&**agent)
                };
                open += self.turns.store().list(owner, &query).await?.total;
            }
            Ok(open)
        };
        let allowed = self.quota.task(agent, owner, open_tasks).await.map_err(error::of_store)?;
        allowed.map_err(error::of_quota)
    }
}

/// Checks the constraints that the types of a request cannot express.
fn check(request: &SendMessageRequest) -> Result<()> {
    let message = &request.message;
    if message.message_id.is_empty() {
        let error = FieldError::new("an id", "an empty string");
        return Err(error.inside("messageId").inside("message").into());
    }
    let ids = [
        ("messageId", Some(&message.message_id)),
        ("contextId", message.context_id.as_ref()),
        ("taskId", message.task_id.as_ref()),
    ];
    for (name, id) in ids {
        let length = id.map_or(0, String::len);
        if length > ID_LIMIT {
            let expected = format!("at most {ID_LIMIT} bytes");
            let error = FieldError::new(expected, format!("{length} bytes"));
            return Err(error.inside(name).inside("message").into());
        }
    }
    if message.parts.is_empty() {
        let error = FieldError::new("at least one part", "an empty list");
        return Err(error.inside("parts").inside("message").into());
    }
    let configuration = request.configuration.as_ref();
    history::check(configuration.and_then(|wanted| wanted.history_length))
}
