//! One evaluation as a client: the request, the work, the result.

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
    agent::{Ended, Listener, Outcome, Progress, PurpleAgent, Work},
};

/// How an evaluation is run.
#[derive(Clone, Debug)]
pub struct RunSettings {
    /// How it is asked for.
    pub request: RequestSettings,
    /// How long is waited for each further message that the policy waits for.
    pub wait: Duration,
    /// How long is waited for the result once the work has ended.
    pub result: Duration,
    /// How long the policy may go on after the evaluator has ended the evaluation: it may be about to
    /// finish.
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

/// What came of an evaluation.
#[derive(Debug)]
pub struct Report {
    /// How the agent's own work ended; none if the evaluator did not want any.
    pub outcome: Option<Outcome>,
    /// What the evaluator found.
    pub verdict: Verdict,
    /// The data of the artifact `Result`, else of the last artifact that has data.
    pub result: Option<Value>,
    /// What the evaluator said at the end.
    pub said: Option<String>,
    /// How many messages came.
    pub messages: u64,
}

/// Why an evaluation could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The request came to nothing.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The evaluator asked for a message and did not take it.
    #[error("green: {0}")]
    Green(#[from] ClientError),
    /// It gave no result in time.
    #[error("green at {green} gave no result within {limit:?} after the work had ended")]
    NoResult {
        /// Where it is.
        green: Url,
        /// The limit.
        limit: Duration,
    },
}

/// Asks the Green agent at `green` for an evaluation, works on it, and waits for the result. The listener
/// is told what happens meanwhile.
///
/// # Errors
/// If the Green agent cannot be spoken to, or says nothing, or gives no result in time.
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
        evaluation.reply(&said, outcome.data.clone()).await?;
    }
    let limit = settings.result;
    if timeout(limit, evaluation.quiet()).await.is_err() {
        let green = green.clone();
        return Err(RunError::NoResult { green, limit });
    }
    let messages = context.incoming_messages().newest();
    let task = evaluation.task();
    Ok(report(task.as_ref(), outcome, messages, given_at_once))
}

/// Whether the evaluator wants no work to be done. A task that was completed at once is an answer that
/// carries the details.
fn refused(task: Option<&Task>) -> bool {
    task.is_some_and(|task| match task.status.state {
        TaskState::Failed | TaskState::Rejected | TaskState::Canceled => true,
        TaskState::Unspecified
        | TaskState::Submitted
        | TaskState::Working
        | TaskState::Completed
        | TaskState::InputRequired
        | TaskState::AuthRequired
        | TaskState::Unknown(_) => false,
    })
}

/// Works until the policy ends, or nothing comes that it waits for, or the evaluator ends the evaluation.
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
    work.stopped(Ended::EvaluationOver)
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
        let inbox = context.incoming_messages();
        let more = async {
            tokio::select! {
                biased;
                () = inbox.beyond(seen) => true,
                () = evaluation.quiet() => false,
            }
        };
        if !timeout(wait, more).await.unwrap_or(false) {
            return work.stopped(Ended::NothingCame { missing });
        }
    }
}

fn report(
    task: Option<&Task>,
    outcome: Option<Outcome>,
    messages: u64,
    given_at_once: bool,
) -> Report {
    let result = task.and_then(verdict::result);
    let said = task.and_then(|task| task.status.message.as_ref());
    Report {
        verdict: verdict::verdict(task, result.as_ref(), given_at_once),
        said: said
            .map(|message| message.text())
            .filter(|text| !text.is_empty()),
        outcome,
        result,
        messages,
    }
}
