//! A bot at work: it speaks, and what it says is logged meanwhile.

use std::{any::Any, panic::AssertUnwindSafe};

use bridge_protocol::translate::Input;
use futures_util::{FutureExt as _, future::join};

use super::{BotError, TurnContext, pump::Pump, state::Memory};

/// What users are told; the reasons are for those who run the bridge.
const FAILED: &str = "The agent could not answer this message.";
const PANICKED: &str = "The agent broke down while it worked on this message.";
const FORGOT: &str = "The agent could not keep what it must remember of this conversation.";

/// How a bot's work ended.
pub(super) enum Outcome {
    /// Well.
    Done(Memory),
    /// The bot says that it could not.
    Failed(BotError),
    /// It panicked.
    Panicked(Box<dyn Any + Send>),
}

/// Lets a bot speak until it has finished and all but its last words are logged.
///
/// Both happen in one task, the bot first: what it says without waiting for anything is one batch.
pub(super) async fn drive(
    turn: TurnContext,
    pump: &mut Pump,
    talk: impl AsyncFnOnce(&mut TurnContext) -> Result<(), BotError>,
) -> Outcome {
    let talking = AssertUnwindSafe(async move {
        let mut turn = turn;
        let talked = talk(&mut turn).await;
        talked.map(|()| turn.close())
    });
    let (talked, ()) = join(talking.catch_unwind(), pump.run()).await;
    match talked {
        Ok(Ok(memory)) => Outcome::Done(memory),
        Ok(Err(error)) => Outcome::Failed(error),
        Err(panic) => Outcome::Panicked(panic),
    }
}

/// How the turn ends that ended so. The state is kept first, unless the task was canceled.
pub(super) async fn settle(outcome: Outcome, task: &str, is_canceled: bool) -> Input {
    match outcome {
        Outcome::Done(_) if is_canceled => Input::Canceled,
        Outcome::Done(memory) => match memory.keep().await {
            Ok(()) => Input::TurnEnded,
            Err(error) => {
                tracing::error!(task, %error, "a bot's turn fails");
                Input::Failed(FORGOT.into())
            }
        },
        Outcome::Failed(error) => {
            tracing::warn!(task, %error, "a bot could not do its turn");
            Input::Failed(FAILED.into())
        }
        Outcome::Panicked(_) => {
            tracing::error!(task, "a bot panicked");
            Input::Failed(PANICKED.into())
        }
    }
}
