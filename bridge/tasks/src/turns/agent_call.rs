//! Calls the agent for one turn and waits for its answer, its end or its limit.

use std::{sync::Arc, time::Duration};

use bridge_protocol::a2a::{Task, TaskState};
use bridge_telemetry::{Instrument as _, set};
use jiff::Timestamp;
use tokio::time::{sleep, timeout};

use super::queue::TurnJob;
use crate::{
    agent::Agent,
    clock,
    executor::{CancelSignal, MessageOfTask, TaskHandle, Turn, Update},
};

/// The time that an agent has for a running turn after its task was canceled.
const CLEANUP_TIME: Duration = Duration::from_secs(5);

/// The input for the agent, and the handle for its changes.
pub(super) struct PreparedTurn {
    pub(super) handle: TaskHandle,
    pub(super) message: MessageOfTask,
    pub(super) task: Arc<Task>,
    pub(super) awaited: Option<TaskState>,
    /// The deadline of a turn that began before a restart.
    pub(super) until: Option<Timestamp>,
}

/// The result of the agent's work.
pub(super) enum CallEnd {
    Answered(Vec<Update>),
    Panicked,
    /// The agent did not answer in time, as this text says.
    TimedOut(String),
    Canceled,
}

/// Begins to call the agent, and returns the future of its end. The agent's task owns its input, so that the future holds
/// little memory.
pub(super) fn call(
    agent: &Arc<Agent>,
    job: &TurnJob,
    prepared: PreparedTurn,
    cancel_signal: CancelSignal,
) -> impl Future<Output = CallEnd> + use<> {
    let PreparedTurn { handle, message, task, awaited, until } = prepared;
    let span = bridge_telemetry::current();
    let conversation = task.context_id.as_deref().unwrap_or_default();
    set(&span, "gen_ai.conversation.id", conversation);
    let turn = Turn {
        number: job.turn,
        message,
        task,
        awaited,
        caller: job.caller.clone(),
        is_watched: job.is_watched,
        handle,
        cancel_signal: cancel_signal.clone(),
    };
    let left = |until| Duration::try_from(clock::now().until(until).ok()?).ok();
    let limit = until.map_or(agent.settings.limit, |until| {
        // A clock that was set back does not make a turn longer.
        let longest = agent.executor.survives_restart_for().unwrap_or_default();
        left(until).unwrap_or_default().min(longest)
    });
    let (executor, output) = (agent.executor.clone(), turn.handle.output().cloned());
    let executing = async move {
        match until {
            None => executor.execute(turn).await,
            Some(_) => executor.resume(turn).await,
        }
    };
    // The task is separate so that an agent cannot delay the timeout by blocking its thread.
    let mut executing = tokio::spawn(executing.instrument(span));
    if let Some(output) = output {
        output.watch(executing.abort_handle());
    }
    let is_recovered = until.is_some();
    async move {
        let ended = tokio::select! {
            executed = timeout(limit, &mut executing) => match executed {
                Ok(Ok(updates)) => return CallEnd::Answered(updates),
                Ok(Err(_)) => return CallEnd::Panicked,
                Err(_) => CallEnd::TimedOut(match is_recovered {
                    true => "The bridge was restarted, and the agent did not answer in time.".into(),
                    false => format!("The agent did not answer within {limit:?}."),
                }),
            },
            () = cleanup_timed_out(&cancel_signal) => CallEnd::Canceled,
        };
        executing.abort();
        ended
    }
}

/// Waits until the cleanup time of a canceled turn is over. An agent that ignores the cancelation must not delay
/// the next message of its conversation until the turn's limit.
async fn cleanup_timed_out(cancel_signal: &CancelSignal) {
    cancel_signal.canceled().await;
    sleep(CLEANUP_TIME).await;
}
