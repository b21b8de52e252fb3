//! A bot at work: it speaks, and what it says is logged meanwhile.

use std::{any::Any, panic::AssertUnwindSafe};

use bridge_protocol::translate::Input;
use futures_util::{FutureExt as _, future::join};

use super::{BotError, TurnContext, log_writer::LogWriter, state::StoredState};

/// What users are told; the reasons are for those who run the bridge.
const FAILED: &str = "The agent could not answer this message.";
const PANICKED: &str = "The agent broke down while it worked on this message.";
const STATE_NOT_SAVED: &str =
    "The agent could not keep what it must remember of this conversation.";

/// How a bot's work ended.
pub(super) enum TurnOutcome {
    /// Well.
    Done(StoredState),
    /// The bot says that it could not.
    Failed(BotError),
    /// It panicked.
    Panicked(Box<dyn Any + Send>),
}

/// Lets a bot speak until it has finished and all but its last words are logged.
///
/// Both happen in one task, the bot first: what it says without waiting for anything is one batch.
pub(super) async fn run_bot(
    turn: TurnContext,
    log_writer: &mut LogWriter,
    talk: impl AsyncFnOnce(&mut TurnContext) -> Result<(), BotError>,
) -> TurnOutcome {
    let talking = AssertUnwindSafe(async move {
        let mut turn = turn;
        let talked = talk(&mut turn).await;
        talked.map(|()| turn.close())
    });
    let (talked, ()) = join(talking.catch_unwind(), log_writer.run()).await;
    match talked {
        Ok(Ok(memory)) => TurnOutcome::Done(memory),
        Ok(Err(error)) => TurnOutcome::Failed(error),
        Err(panic) => TurnOutcome::Panicked(panic),
    }
}

/// How the turn ends that ended so. The state is kept first, unless the task was canceled.
pub(super) async fn turn_end(outcome: TurnOutcome, task: &str, is_canceled: bool) -> Input {
    match outcome {
        TurnOutcome::Done(_) if is_canceled => Input::Canceled,
        TurnOutcome::Done(memory) => match memory.save().await {
            Ok(()) => Input::TurnEnded,
            Err(error) => {
                tracing::error!(task, %error, "a bot's turn fails");
                Input::Failed(STATE_NOT_SAVED.into())
            }
        },
        TurnOutcome::Failed(error) => {
            tracing::warn!(task, %error, "a bot could not do its turn");
            Input::Failed(FAILED.into())
        }
        TurnOutcome::Panicked(_) => {
            tracing::error!(task, "a bot panicked");
            Input::Failed(PANICKED.into())
        }
    }
}
