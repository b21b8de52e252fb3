//! Evaluates a participant that calls: it sent "ready for evaluation", and gets its instructions as statuses
//! of the task.

use mcp_tools::episodes::Episodes;
use tokio::time::sleep;

use super::{details, running::RunningEpisode};
use crate::{
    evaluator::{assess_error::AssessError, reporter::Reporter},
    scenario::episode::{Acknowledge, Delivery, Episode},
};

/// Sends the participant its instructions, and waits until the episode has ended or its time is over.
pub(super) async fn instruct(
    running: &RunningEpisode,
    settings: &Episode,
    acknowledge: Option<Acknowledge>,
    reporter: &Reporter,
    episodes: &Episodes,
) -> Result<(), AssessError> {
    let task = details::task(&running.opened.task, settings.details);
    let details = details::details(&running.details, settings.details);
    let message_ids = match settings.delivery {
        Delivery::Messages => vec![reporter.send(vec![task]).await?, reporter.send(details).await?],
        Delivery::Preset => vec![reporter.send(vec![task]).await?],
        Delivery::Synchronous => {
            let reply = [vec![task], details].concat();
            let message_ids = reporter.send(reply).await?;
            reporter.end_turn();
            vec![message_ids]
        }
    };
    let resending = async {
        if let Some(acknowledge) = acknowledge {
            resend(&message_ids, acknowledge, reporter).await?;
        }
        std::future::pending().await
    };
    tokio::select! {
        _ = episodes.finished(&running.opened.id) => Ok(()),
        unheard = resending => unheard,
    }
}

/// Repeats messages that are not acknowledged, as often as allowed.
async fn resend(
    message_ids: &[String],
    acknowledge: Acknowledge,
    reporter: &Reporter,
) -> Result<(), AssessError> {
    for _ in 0..acknowledge.resend {
        sleep(acknowledge.after).await;
        for id in message_ids {
            if !reporter.has_acknowledged(id) {
                reporter.repeat(id).await?;
            }
        }
    }
    Ok(())
}
