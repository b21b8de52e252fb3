//! Runs one turn of a bot while its activities are being logged.

use std::{any::Any, panic::AssertUnwindSafe};

use bridge_translate::Input;
use futures_util::{FutureExt as _, future::join};

use super::{BotError, TurnContext, log_writer::LogWriter, state::StoredState};

/// The texts for users. The reasons are only logged.
const FAILED: &str = "The agent could not answer this message.";
const PANICKED: &str = "The agent crashed while it worked on this message.";
const STATE_NOT_SAVED: &str = "The agent could not save the state of this conversation.";

/// The result of a bot's turn.
pub(super) enum TurnOutcome {
    /// The bot returned without an error. Its state must still be saved.
    Done(StoredState),
    /// The bot returned an error.
    Failed(BotError),
    /// The bot panicked.
    Panicked(Box<dyn Any + Send>),
}

/// Runs a bot until it has finished and all but its last activities are logged.
///
/// The bot and the log writer share one task, with the bot first: everything that the bot sends without waiting is
/// one batch.
pub(super) async fn run_bot(
    turn: TurnContext,
    log_writer: &mut LogWriter,
    talk: impl AsyncFnOnce(&mut TurnContext) -> Result<(), BotError>,
) -> TurnOutcome {
    let talking = AssertUnwindSafe(async move {
        let mut turn = turn;
        let talked = talk(&mut turn).await;
        talked.map(|()| turn.memory)
    });
    let (talked, ()) = join(talking.catch_unwind(), log_writer.run()).await;
    match talked {
        Ok(Ok(memory)) => TurnOutcome::Done(memory),
        Ok(Err(error)) => TurnOutcome::Failed(error),
        Err(panic) => TurnOutcome::Panicked(panic),
    }
}

/// Saves the state of a successful turn, unless the task was canceled, and returns the end of the turn.
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
            tracing::warn!(task, %error, "a bot reported an error in its turn");
            Input::Failed(FAILED.into())
        }
        TurnOutcome::Panicked(_) => {
            tracing::error!(task, "a bot panicked");
            Input::Failed(PANICKED.into())
        }
    }
}
