//! The participant calls: it said that it is ready, and is told what to do in the statuses of the task.

use mcp_tools::episodes::Episodes;
use tokio::time::sleep;

use super::{details, play::Play};
use crate::{
    evaluator::{own::AssessError, voice::Voice},
    scenario::episode::{Acknowledge, Delivery, Episode},
};

/// Tells the participant what to do, and waits until it has been done or its time is over.
pub(super) async fn tell(
    play: &Play,
    settings: &Episode,
    acknowledge: Option<Acknowledge>,
    voice: &Voice,
    episodes: &Episodes,
) -> Result<(), AssessError> {
    let task = details::task(&play.opened.task);
    let details = details::details(&play.details, settings.details);
    let said = match settings.delivery {
        Delivery::Messages => vec![voice.send(vec![task]).await?, voice.send(details).await?],
        Delivery::Preset => vec![voice.send(vec![task]).await?],
        Delivery::Synchronous => {
            let reply = [vec![task], details].concat();
            let said = voice.send(reply).await?;
            voice.end_turn();
            vec![said]
        }
    };
    let insisting = async {
        if let Some(acknowledge) = acknowledge {
            insist(&said, acknowledge, voice).await?;
        }
        std::future::pending().await
    };
    tokio::select! {
        _ = episodes.finished(&play.opened.id) => Ok(()),
        unheard = insisting => unheard,
    }
}

/// Says again what was not acknowledged, as often as may be.
async fn insist(
    said: &[String],
    acknowledge: Acknowledge,
    voice: &Voice,
) -> Result<(), AssessError> {
    for _ in 0..acknowledge.resend {
        sleep(acknowledge.after).await;
        for id in said {
            if !voice.has_acknowledged(id) {
                voice.repeat(id).await?;
            }
        }
    }
    Ok(())
}
