//! Runs one evaluation as a client: the request, the work and the result.

mod verdict;

use std::time::Duration;

use bridge_client::ClientError;
use bridge_protocol::a2a::{Task, TaskState};
use mcp_tools::context::AgentContext;
use serde_json::Value;
use tokio::time::{sleep, timeout};
use url::Url;

pub use crate::a2a_client::{RequestError, RequestSettings};
pub use verdict::Verdict;

use crate::{
    a2a_client::{Evaluation, submit_evaluation_request},
    agent::{Listener, Outcome, Progress, PurpleAgent, StopReason, Work},
};

/// The settings of an evaluation.
#[derive(Clone, Debug)]
pub struct RunSettings {
    /// The settings of the request.
    pub request: RequestSettings,
    /// The time limit for each message that the policy waits for.
    pub wait: Duration,
    /// The time limit for the result after the work has ended.
    pub result: Duration,
    /// The time that the policy may continue after the evaluator has ended the evaluation, because it may be about
    /// to finish.
    pub grace: Duration,
}

impl Default for RunSettings {
    fn default() -> Self {
        Self {
            request: RequestSettings::default(),
            wait: Duration::from_secs(60),
            result: Duration::from_secs(60),
            grace: Duration::from_secs(5),
        }
    }
}

/// The report of an evaluation.
#[derive(Debug)]
pub struct Report {
    /// The outcome of the agent's own work; `None` if the evaluator refused the request.
    pub outcome: Option<Outcome>,
    /// The evaluator's verdict.
    pub verdict: Verdict,
    /// The data of the artifact `Result`, else of the last artifact that has data.
    pub result: Option<Value>,
    /// The evaluator's final text.
    pub said: Option<String>,
    /// The number of received messages.
    pub messages: u64,
}

/// The reason why an evaluation could not be carried out.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum RunError {
    /// The request failed.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The evaluator asked for a message and did not accept it.
    #[error("green: {0}")]
    Green(ClientError),
    /// The evaluator gave no result within the limit.
    #[error("green at {green} gave no result within {limit:?} after the work had ended: {ended}")]
    NoResult {
        green: Url,
        limit: Duration,
        /// The reason for the end of the work.
        ended: String,
    },
}

/// Requests an evaluation from the Green agent at `green`, works on it, and waits for the result. `listener` is
/// called for each event.
///
/// # Errors
/// If the communication with the Green agent fails, or it sends no message or no result in time.
pub async fn run(
    green: &Url,
    agent: &PurpleAgent,
    settings: &RunSettings,
    listener: Listener,
) -> Result<Report, RunError> {
    let context = agent.context();
    let request = &settings.request;
    let submitted = submit_evaluation_request(green, &context, request, listener.clone()).await?;
    let mut evaluation = submitted.evaluation;
    let given_at_once = evaluation.has_ended();
    let outcome = if refused(evaluation.task().as_ref()) {
        None
    } else {
        let mut work = agent.work(context.clone(), listener);
        let outcome = supervised(&mut work, &context, &evaluation, settings).await;
        context.disconnect().await;
        Some(outcome)
    };
    if let Some(outcome) = outcome.as_ref().filter(|_| evaluation.wants_message()) {
        let said = match outcome.text.is_empty() {
            true => outcome.ended.to_string(),
            false => outcome.text.clone(),
        };
        let replied = evaluation.reply(&said, outcome.data.clone()).await;
        replied.map_err(RunError::Green)?;
    }
    let limit = settings.result;
    if timeout(limit, evaluation.quiet()).await.is_err() {
        let ended =
            outcome.map_or_else(|| "refused".to_owned(), |outcome| outcome.ended.to_string());
        return Err(RunError::NoResult { green: green.clone(), limit, ended });
    }
    let task = evaluation.task();
    let result = task.as_ref().and_then(verdict::result);
    let said = task.as_ref().and_then(|task| task.status.message.as_ref());
    Ok(Report {
        verdict: verdict::verdict(task.as_ref(), result.as_ref(), given_at_once),
        said: said.map(|message| message.text()).filter(|text| !text.is_empty()),
        outcome,
        result,
        messages: context.incoming_messages().newest(),
    })
}

/// Returns whether the evaluator wants no work to be done. A task that was completed at once is not a refusal but
/// an answer with the details.
fn refused(task: Option<&Task>) -> bool {
    let state = task.map(|task| &task.status.state);
    state.is_some_and(|state| state.is_terminal() && *state != TaskState::Completed)
}

/// Works until the policy ends, an expected message does not arrive in time, or the evaluator ends the evaluation.
async fn supervised(
    work: &mut Work,
    context: &AgentContext,
    evaluation: &Evaluation,
    settings: &RunSettings,
) -> Outcome {
    let given_at_once = evaluation.has_ended();
    let over = async {
        match given_at_once {
            true => std::future::pending().await,
            false => evaluation.ended().await,
        }
        sleep(settings.grace).await;
    };
    tokio::select! {
        outcome = working(work, context, evaluation, settings.wait) => return outcome,
        () = over => {}
    }
    work.stopped(StopReason::EvaluationOver)
}

async fn working(
    work: &mut Work,
    context: &AgentContext,
    evaluation: &Evaluation,
    wait: Duration,
) -> Outcome {
    loop {
        let (missing, seen) = match work.advance().await {
            Progress::Ended(outcome) => return outcome,
            Progress::Waits { missing, seen } => (missing, seen),
        };
        let more = evaluation.has_more(context, seen);
        if !timeout(wait, more).await.unwrap_or(false) {
            return work.stopped(StopReason::MessageMissing(missing));
        }
    }
}
