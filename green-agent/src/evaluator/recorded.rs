//! Reads the assessment of a green agent that a participant called itself from the transcript.

use std::time::Duration;

use bridge_client::{Client, Options};
use tokio::time::timeout;

use super::{Evaluation, EvaluationError, collect::Collected};
use crate::{
    assessment::Assessment,
    transcript::{Entry, Hop, task},
};

/// The time within which a green agent must notice that its participant is gone.
const NOTICED_WITHIN: Duration = Duration::from_secs(10);

/// Reads the evaluation's task from the transcript. If it was still open there, asks the green agent for its final
/// state.
pub(super) async fn assess(
    evaluation: &Evaluation<'_>,
    role: &str,
    how: &str,
    entries: &[Entry],
) -> Result<Assessment, EvaluationError> {
    let mut collected = Collected::default();
    for item in task::first_on(entries, &Hop::new(role, "green")) {
        collected.take(item);
    }
    if collected.task.is_none() && collected.message.is_none() {
        let (role, how) = (role.to_owned(), how.to_owned());
        return Err(EvaluationError::NotAsked { role, how });
    }
    if let (false, Some(url)) = (collected.is_settled(), &evaluation.green_url) {
        let options = Options { limits: evaluation.limits(), ..Options::default() };
        let asking = async {
            let client = Client::connect(url, &options).await?;
            collected.settle(&client, |_, _| ()).await
        };
        // If the green agent does not notice, only the transcript is left: its task is not completed.
        if let Ok(asked) = timeout(NOTICED_WITHIN, asking).await {
            asked.map_err(EvaluationError::Green)?;
        }
    }
    Ok(collected.into_assessment())
}
