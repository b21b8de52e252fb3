//! Carries out one step, with its retries.

use std::time::Duration;

use bridge_protocol::a2a::Part;
use serde_json::{Map, Value, json};
use tokio::time::{sleep, timeout};

use super::{
    error::{AttemptError, RunError, StepFailure},
    model::Step,
    progress::Progress,
    run::PipelineRun,
};

/// A step that succeeded.
#[derive(Debug)]
pub(super) struct Done<'a> {
    pub(super) step: &'a Step,
    /// The name of the agent that did it.
    pub(super) agent: String,
    /// The number of the successful attempt.
    pub(super) attempts: u32,
    /// The step's output.
    pub(super) output: Value,
}

impl<'a, P: Progress> PipelineRun<'a, P> {
    /// Runs a step: finds an agent, calls it, and tries again if that fails. An agent is looked up before every
    /// attempt, because one that failed may have been replaced meanwhile.
    pub(super) async fn perform(
        &self,
        step: &'a Step,
        input: Map<String, Value>,
    ) -> Result<Done<'a>, RunError<P::Error>> {
        let mut pause = step.backoff;
        let mut attempts = 0;
        loop {
            attempts += 1;
            let mut agent = None;
            let trying = self.attempt(step, &input, attempts, &mut agent);
            let tried = match step.timeout {
                None => trying.await,
                Some(limit) => {
                    let tried = timeout(limit, trying).await;
                    tried.unwrap_or(Ok(Err(AttemptError::TimedOut(limit))))
                }
            };
            let fault = match tried? {
                Ok(output) => {
                    let agent = agent.unwrap_or_default();
                    self.tell(step, "completed", &agent, attempts).await?;
                    return Ok(Done { step, agent, attempts, output });
                }
                Err(fault) => fault,
            };
            if attempts > step.retries || !fault.may_pass() {
                return Err(RunError::Step(step.failure(agent, attempts, fault)));
            }
            self.report_retry(step, &fault, attempts, pause).await?;
            sleep(pause).await;
            pause = pause.saturating_mul(2);
        }
    }

    async fn attempt(
        &self,
        step: &Step,
        input: &Map<String, Value>,
        attempt: u32,
        agent: &mut Option<String>,
    ) -> Result<Result<Value, AttemptError>, P::Error> {
        let found = match self.directory.find(&step.skill, attempt > 1).await {
            Ok(found) => found,
            Err(fault) => return Ok(Err(fault)),
        };
        let name = agent.insert(found.name().to_owned());
        self.tell(step, "working", name, attempt).await?;
        Ok(found.work(input).await)
    }

    /// Reports the state of the step, as text for people and as data for programs.
    async fn tell(
        &self,
        step: &Step,
        state: &str,
        agent: &str,
        attempt: u32,
    ) -> Result<(), P::Error> {
        let Step { id, skill, .. } = step;
        let data = json!({
            "step": id, "skill": skill, "agent": agent, "state": state, "attempt": attempt,
        });
        let text = format!("step {id}, {skill} at {agent}: {state}");
        let parts = vec![Part::text(text), Part::data(data)];
        self.progress.send(parts).await
    }

    async fn report_retry(
        &self,
        step: &Step,
        fault: &AttemptError,
        attempt: u32,
        pause: Duration,
    ) -> Result<(), P::Error> {
        let Step { id, skill, retries, .. } = step;
        let text = format!(
            "step {id}, {skill}: attempt {attempt} of {} failed: {fault}; again in {pause:?}",
            retries + 1
        );
        self.progress.send(vec![Part::text(text)]).await
    }
}

impl Step {
    /// Returns the failure of this step in the last of some attempts.
    pub(super) fn failure(
        &self,
        agent: Option<String>,
        attempts: u32,
        fault: AttemptError,
    ) -> StepFailure {
        StepFailure { step: self.id.clone(), skill: self.skill.clone(), agent, attempts, fault }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::fixture::{Answer, Ignored, ScriptedDirectory, pipeline};

    /// Returns the agent, the number of attempts and the output of a step.
    async fn perform(
        config: &str,
        directory: &ScriptedDirectory,
    ) -> Result<(String, u32, Value), String> {
        let pipeline = pipeline(&format!("[[config.step]]\nid = 'plan'\nskill = 'p'\n{config}"));
        let run = PipelineRun { pipeline: &pipeline, directory, progress: &Ignored };
        match run.perform(&pipeline.steps[0], Map::new()).await {
            Ok(done) => Ok((done.agent, done.attempts, done.output)),
            Err(RunError::Step(failure)) => Err(failure.to_string()),
            Err(other) => panic!("the step fails, and not {other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_step_is_tried_again_until_it_is_done() {
        let agent_directory = ScriptedDirectory::default()
            .with("p", [Answer::Fails("too hot"), Answer::Hangs, Answer::Gives(json!(7))]);
        let config = "retries = 3\nbackoff = '1s'\ntimeout = '5s'\n";
        let begun = tokio::time::Instant::now();
        let done = perform(config, &agent_directory).await.unwrap();
        assert_eq!(done, ("p-agent".to_owned(), 3, json!(7)));
        // The immediate failure costs a pause of 1 s, the timeout 5 s and a pause of 2 s.
        assert_eq!(begun.elapsed(), Duration::from_secs(8));
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_names_step_skill_and_agent() {
        for (config, answer, expected) in [
            (
                "retries = 1\n",
                Answer::Fails("too hot"),
                "step plan, p at p-agent, 2 attempts: too hot",
            ),
            (
                "retries = 5\n",
                Answer::Refuses("/plan: expected a text"),
                "step plan, p at p-agent: the input does not match the skill's parameters: /plan: expected a text",
            ),
            (
                "timeout = '2s'\n",
                Answer::Hangs,
                "step plan, p at p-agent: it took longer than 2s; give the step a longer timeout",
            ),
        ] {
            let agent_directory = ScriptedDirectory::default().with("p", [answer]);
            let error = perform(config, &agent_directory).await.unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
        let error = perform("", &ScriptedDirectory::default()).await.unwrap_err();
        assert_eq!(error, "step plan, p: no agent has the skill; nobody was there");
    }
}
