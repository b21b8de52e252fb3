//! SendMessage and SendStreamingMessage (specification 3.1.1, 3.1.2).

use std::sync::Arc;

use bridge_protocol::{
    a2a::{Error, SendMessageRequest, SendMessageResponse, Task},
    wire::FieldError,
};
use tokio::time::timeout;

use super::{
    Context, Position, Service, StreamItems, bare_message, error,
    history::{self, with_history},
    sequence, task_stream,
};
use crate::{
    completion::run_to_completion,
    store::{Event, Head, Seq, Snapshot, Turn, TurnState},
    turns::{IncomingMessage, Submitted},
};

/// How many events of a log are read at a time.
const PAGE: usize = 256;

impl Service {
    /// Says something and answers with the task: at once if asked so, else at the first state that ends
    /// or interrupts it after the message, or at the limit with the task as it stands. An agent that
    /// answers so is heard with a bare message, see [`AnswerKind::Messages`](crate::agent::AnswerKind).
    ///
    /// # Errors
    /// Those of the protocol; so for all operations.
    pub async fn send_message(
        &self,
        context: &Context,
        request: SendMessageRequest,
    ) -> Result<SendMessageResponse<Arc<Task>>, Error> {
        let configuration = request.configuration.as_ref();
        let returns_at_once = configuration.is_some_and(|wanted| wanted.return_immediately);
        let history = configuration.and_then(|wanted| wanted.history_length);
        let bare_reply = (!returns_at_once)
            .then(|| self.bare_reply(context, &request))
            .flatten();
        let submitted = self.submit(context, request, false).await?;
        let mut settled = None;
        if !returns_at_once {
            // Over the limit, the task is shown as it stands.
            let waiting = timeout(
                self.settings.wait,
                self.wait_for_answer_or_failure(context, &submitted),
            );
            settled = waiting.await.ok().transpose()?.flatten();
        }
        let snapshot = match settled {
            Some(head) => self.task_at_answer(context, &submitted, &head).await,
            None => {
                let store = self.turns.store();
                store.task(&context.caller, &submitted.task).await
            }
        };
        let Snapshot { task, seq } = snapshot.map_err(error::of_store)?;
        if let Some(message) = bare_reply.and_then(|bare_reply| bare_reply.answer(&task)) {
            return Ok(SendMessageResponse::Message(message));
        }
        let task = sequence::numbered(context, with_history(task, history), seq);
        Ok(SendMessageResponse::Task(task))
    }

    /// Says something and shows the task's changes until its turn has ended. A turn that waits behind
    /// another one shows what that does meanwhile, as all streams of the task do (specification 3.5.2);
    /// it does not end with it, unless the task does.
    ///
    /// With `Last-Event-ID` the old turn is taken up again: only later events are shown.
    pub async fn send_streaming_message(
        &self,
        context: &Context,
        request: SendMessageRequest,
    ) -> Result<StreamItems, Error> {
        let history = request
            .configuration
            .as_ref()
            .and_then(|wanted| wanted.history_length);
        let bare_reply = self.bare_reply(context, &request);
        let submitted = self.submit(context, request, true).await?;
        let end = task_stream::StreamEnd::Turn {
            turn: submitted.turn,
            message: submitted.message,
            begun: submitted.has_begun.then_some(submitted.last),
        };
        match &context.last_event {
            Some(last) if last.task == submitted.task => {
                Ok(task_stream::after(self, context, last.clone(), end))
            }
            Some(_) | None => {
                let Submitted {
                    task, last: seq, ..
                } = submitted;
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
    ) -> Result<Submitted, Error> {
        check(&request)?;
        let seen = sequence::seen(&mut request)?;
        self.check_media_types(context, &request.message)?;
        self.request_activities(context, &mut request.message)?;
        let configuration = request.configuration.as_ref();
        let is_pushed =
            configuration.is_some_and(|one| one.task_push_notification_config.is_some());
        // On the heap, for few messages bring one.
        let push = match is_pushed {
            true => Box::pin(self.checked_push(context, &request)).await?,
            false => None,
        };
        let message_id = request.message.message_id.clone();
        let incoming = IncomingMessage {
            agent: context.agent.clone(),
            caller: context.caller.clone(),
            message: request.message,
            client_id: context.client_id.clone(),
            metadata: request.metadata,
            seen,
            is_watched,
        };
        match push {
            None => self.turns.submit(incoming).await.map_err(error::of_turn),
            Some(push) => {
                let (service, caller) = (self.clone(), context.caller.clone());
                let keeping = async move {
                    let submitted = service.turns.submit(incoming).await;
                    let submitted = submitted.map_err(error::of_turn)?;
                    service
                        .keep_push(&caller, push, &message_id, &submitted)
                        .await?;
                    Ok(submitted)
                };
                Box::pin(run_to_completion(keeping)).await
            }
        }
    }

    /// Waits for the answer, but not for a store that does not take it.
    async fn wait_for_answer_or_failure(
        &self,
        context: &Context,
        submitted: &Submitted,
    ) -> Result<Option<Arc<Head>>, Error> {
        tokio::select! {
            biased;
            settled = self.wait_for_answer(context, submitted) => settled,
            refusal = self.turns.unlogged_end(&submitted.task, submitted.turn) => Err(error::of_unlogged_end(refusal)),
        }
    }

    /// Waits for the first event after the message that ends or interrupts the task, or its turn, and tells
    /// how the task stood then; `None` if the store is closed before that.
    async fn wait_for_answer(
        &self,
        context: &Context,
        submitted: &Submitted,
    ) -> Result<Option<Arc<Head>>, Error> {
        let store = self.turns.store();
        let watch = store.watch(&context.caller, &submitted.task).await;
        let mut watch = watch.map_err(error::of_store)?;
        // What was logged with the message only begins its turn.
        let mut seen = submitted.last;
        while let Some(head) = watch.after(seen).await {
            // A turn that has left the task at work is no answer yet (specification 3.2.2).
            let is_over = head.turns.iter().all(|open| open.turn != submitted.turn);
            let ended = is_over && head.state.is_interrupted();
            if ended || head.state.is_terminal() {
                return Ok(Some(head));
            }
            // The head says how the task stands now: it may have been interrupted in between.
            if self
                .was_interrupted(context, &head, submitted.turn, seen)
                .await?
            {
                return Ok(Some(head));
            }
            seen = head.seq;
        }
        Ok(None)
    }

    /// Whether the turn has interrupted the task after `seen`, up to the head. An interruption by a turn
    /// before it is none of its own: it waited behind that.
    async fn was_interrupted(
        &self,
        context: &Context,
        head: &Head,
        turn: u64,
        seen: Seq,
    ) -> Result<bool, Error> {
        let (mut seen, mut interrupted) = (seen, false);
        let waits = |open: &Turn| open.turn == turn && open.state == TurnState::Queued;
        if head.turns.iter().any(waits) {
            return Ok(false);
        }
        while seen < head.seq {
            let store = self.turns.store();
            let page = store.read(&context.caller, &head.task, seen, PAGE).await;
            let page = page.map_err(error::of_store)?;
            let Some(last) = page.last() else {
                break;
            };
            seen = last.seq;
            for stored in &page {
                interrupted = match &stored.event {
                    Event::TurnStarted { turn: started, .. } if *started == turn => false,
                    Event::Status { status, .. } => interrupted || status.state.is_interrupted(),
                    Event::Created(_)
                    | Event::Message(_)
                    | Event::Said(_)
                    | Event::TurnQueued { .. }
                    | Event::TurnStarted { .. }
                    | Event::TurnEnded { .. }
                    | Event::Artifact { .. }
                    | Event::Metadata { .. } => interrupted,
                };
            }
        }
        Ok(interrupted)
    }
}

/// What the types cannot say of a request.
fn check(request: &SendMessageRequest) -> Result<(), Error> {
    let message = &request.message;
    if message.message_id.is_empty() {
        let error = FieldError::new("an id", "an empty string");
        return Err(error.inside("messageId").inside("message").into());
    }
    if message.parts.is_empty() {
        let error = FieldError::new("at least one part", "an empty list");
        return Err(error.inside("parts").inside("message").into());
    }
    let configuration = request.configuration.as_ref();
    history::check(configuration.and_then(|wanted| wanted.history_length))
}
