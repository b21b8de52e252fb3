//! Serves an evaluator as an A2A agent.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use bridge_program::lock;
use bridge_protocol::a2a::{
    AgentCapabilities, AgentCard, AgentExtension, AgentSkill, Message, Part, Task, TaskState,
};
use bridge_store::caller::Caller;
use bridge_tasks::{
    agent::{Agent, TurnSettings},
    executor::{Executor, TaskHandle, Turn, Update},
};
use mcp_tools::acknowledge::{ACKNOWLEDGE_EXTENSION, acknowledged};
use tokio::task::AbortHandle;

use super::{
    assess_error::AssessError,
    custom::{EvaluationResult, Evaluator},
    reporter::Reporter,
    request::AssessmentRequest,
};

/// The name of the artifact that holds an evaluation's result, as in AgentBeats' agents.
pub(super) const RESULT: &str = "Result";

/// Returns a green agent of this name, to be hosted with [`bridge_server::host::Host`]. An evaluation that takes
/// longer than `limit` fails.
///
/// A message with AgentBeats' `participants` is an assessment request, an acknowledgement belongs to the
/// evaluation of its context, and the sender of any other message wants to be evaluated.
pub fn agent(name: &str, evaluator: Arc<dyn Evaluator>, limit: Duration) -> Agent {
    Agent {
        name: name.into(),
        card: evaluator.card(plain_card(name)),
        executor: Arc::new(EvaluatorExecutor { evaluator, running: Mutex::default() }),
        settings: TurnSettings { limit, ..TurnSettings::default() },
    }
}

fn plain_card(name: &str) -> AgentCard {
    let modes = ["text/plain", "application/json"].map(str::to_owned);
    let extension = AgentExtension::new(
        ACKNOWLEDGE_EXTENSION,
        "messages may be acknowledged, and are sent again until they are",
    );
    AgentCard {
        capabilities: AgentCapabilities {
            streaming: Some(true),
            extensions: vec![extension],
            ..AgentCapabilities::default()
        },
        default_input_modes: modes.to_vec(),
        default_output_modes: modes.to_vec(),
        skills: vec![skill()],
        ..AgentCard::named(name, "Evaluates agents")
    }
}

fn skill() -> AgentSkill {
    AgentSkill {
        tags: vec!["evaluation".to_owned()],
        examples: vec![
            "ready for evaluation".to_owned(),
            r#"{"participants": {"purple": "http://127.0.0.1:9019/"}, "config": {}}"#.to_owned(),
        ],
        ..AgentSkill::new(
            "evaluate",
            "Evaluate",
            "Evaluates participants, or the agent that asks for it",
        )
    }
}

/// Runs an evaluator as the agent's executor.
struct EvaluatorExecutor {
    evaluator: Arc<dyn Evaluator>,
    running: Mutex<Vec<RunningEvaluation>>,
}

/// An evaluation in progress.
struct RunningEvaluation {
    task: String,
    context: String,
    reporter: Reporter,
    work: AbortHandle,
}

#[async_trait]
impl Executor for EvaluatorExecutor {
    async fn execute(&self, turn: Turn) -> Vec<Update> {
        let acknowledged = acknowledged_in(&turn.message);
        if !acknowledged.is_empty() {
            self.acknowledge(turn.handle.context_id(), &acknowledged);
            return vec![Update::state(TaskState::Completed)];
        }
        self.evaluate(turn).await
    }

    async fn canceled(&self, task: Arc<Task>, _caller: Caller) {
        let running = lock(&self.running);
        let canceled = running.iter().filter(|one| one.task == task.id);
        canceled.for_each(|one| one.work.abort());
    }
}

impl EvaluatorExecutor {
    /// Runs the evaluation in a spawned task, because it may outlive its turn.
    async fn evaluate(&self, turn: Turn) -> Vec<Update> {
        let reporter = Reporter::new(Some(turn.handle.clone()), None);
        let evaluator = Arc::clone(&self.evaluator);
        let (message, speaking) = (turn.message, reporter.clone());
        let mut work = tokio::spawn(async move { work(&*evaluator, &message, &speaking).await });
        self.keep(&turn.handle, &reporter, work.abort_handle());
        tokio::select! {
            // A panic is passed on: the end of the turn reports it.
            done = &mut work => done.unwrap_or_else(|error| match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_canceled) => Vec::new(),
            }),
            () = reporter.turn_ends() => {
                tokio::spawn(finish_later(turn.handle, work));
                Vec::new()
            }
        }
    }

    fn keep(&self, task: &TaskHandle, reporter: &Reporter, work: AbortHandle) {
        let mut running = lock(&self.running);
        running.retain(|one| !one.work.is_finished());
        running.push(RunningEvaluation {
            task: task.task_id().to_owned(),
            context: task.context_id().to_owned(),
            reporter: reporter.clone(),
            work,
        });
    }

    fn acknowledge(&self, context: &str, ids: &[String]) {
        let running = lock(&self.running);
        let meant = running.iter().filter(|one| one.context == context);
        meant.for_each(|one| one.reporter.acknowledge(ids.to_vec()));
    }
}

/// Runs the evaluation; returns the updates that end its task.
async fn work(evaluator: &dyn Evaluator, message: &Message, reporter: &Reporter) -> Vec<Update> {
    let verdict = match AssessmentRequest::read(message) {
        Some(Ok(request)) => evaluator.assess(&request, reporter).await,
        Some(Err(expected)) => Err(AssessError::Rejected(expected)),
        None => evaluator.welcome(message, reporter).await,
    };
    let ends = |state, text: String| {
        let id = format!("{}-verdict", message.message_id);
        vec![Update::said(state, id, text)]
    };
    match verdict {
        Ok(EvaluationResult { result, failure }) => {
            let result = Update::artifact("result", RESULT, vec![Part::data(result)]);
            let end = match failure {
                Some(why) => ends(TaskState::Failed, why),
                None => vec![Update::state(TaskState::Completed)],
            };
            [vec![result], end].concat()
        }
        Err(AssessError::Rejected(why)) => ends(TaskState::Rejected, why),
        Err(
            error @ (AssessError::Failed(_)
            | AssessError::Participant { .. }
            | AssessError::OutOfReach(_)
            | AssessError::Environment(_)
            | AssessError::Model(_)),
        ) => ends(TaskState::Failed, error.to_string()),
        Err(AssessError::Abandoned(_)) => Vec::new(),
    }
}

/// Ends the task once an evaluation that outlived its turn has ended.
async fn finish_later(task: TaskHandle, work: tokio::task::JoinHandle<Vec<Update>>) {
    let last = match work.await {
        Ok(last) => last,
        Err(error) if error.is_cancelled() => return,
        Err(_panic) => {
            let id = format!("{}-broken", task.task_id());
            vec![Update::said(TaskState::Failed, id, "The evaluation failed.")]
        }
    };
    if let Err(error) = task.emit(last).await {
        tracing::debug!(%error, "the result of an evaluation could not be sent");
    }
}

/// Returns the ids that a message acknowledges.
pub(super) fn acknowledged_in(message: &Message) -> Vec<String> {
    serde_json::to_value(message).map_or_else(|_| Vec::new(), |message| acknowledged(&message))
}
