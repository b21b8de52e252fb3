//! Carries out one step, with its retries.

use std::time::Duration;

use bridge_protocol::a2a::Part;
use serde_json::{Map, Value, json};
use tokio::time::{sleep, timeout};

use super::{
    agent_directory::AgentDirectory,
    error::{AttemptError, RunError, StepFailure},
    model::Step,
    progress::Progress,
};

/// A step that succeeded.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Done {
    /// The name of the agent that did it.
    pub(super) agent: String,
    /// The number of the successful attempt.
    pub(super) attempts: u32,
    /// The step's output.
    pub(super) output: Value,
}

/// Runs one step: finds an agent, calls it, and tries again if that fails.
pub(super) struct StepRunner<'a, P> {
    pub(super) step: &'a Step,
    pub(super) agent_directory: &'a dyn AgentDirectory,
    pub(super) progress: &'a P,
}

impl<P: Progress> StepRunner<'_, P> {
    /// Runs the step. An agent is looked up before every attempt, because one that failed may have been
    /// replaced meanwhile.
    pub(super) async fn perform(
        &self,
        input: &Map<String, Value>,
    ) -> Result<Done, RunError<P::Error>> {
        let mut pause = self.step.backoff;
        let mut attempts = 0;
        loop {
            attempts += 1;
            let mut agent = None;
            let fault = match self
                .within_limit(input, attempts, &mut agent)
                .await
                .map_err(RunError::Abandoned)?
            {
                Ok(output) => {
                    let agent = agent.unwrap_or_default();
                    let sent = self.tell("completed", Some(&agent), attempts).await;
                    sent.map_err(RunError::Abandoned)?;
                    return Ok(Done { agent, attempts, output });
                }
                Err(fault) => fault,
            };
            if attempts > self.step.retries || !fault.may_pass() {
                return Err(RunError::step(self.failure(agent, attempts, fault)));
            }
            let sent = self.report_retry(&fault, attempts, pause).await;
            sent.map_err(RunError::Abandoned)?;
            sleep(pause).await;
            pause = pause.saturating_mul(2);
        }
    }

    async fn within_limit(
        &self,
        input: &Map<String, Value>,
        attempt: u32,
        agent: &mut Option<String>,
    ) -> Result<Result<Value, AttemptError>, P::Error> {
        let trying = self.attempt(input, attempt, agent);
        match self.step.timeout {
            None => trying.await,
            Some(limit) => match timeout(limit, trying).await {
                Ok(tried) => tried,
                Err(_over) => Ok(Err(AttemptError::TimedOut(limit))),
            },
        }
    }

    async fn attempt(
        &self,
        input: &Map<String, Value>,
        attempt: u32,
        agent: &mut Option<String>,
    ) -> Result<Result<Value, AttemptError>, P::Error> {
        let found = match self.agent_directory.find(&self.step.skill, attempt > 1).await {
            Ok(found) => found,
            Err(fault) => return Ok(Err(fault)),
        };
        let name = agent.insert(found.name().to_owned());
        self.tell("working", Some(name), attempt).await?;
        Ok(found.work(input).await)
    }

    fn failure(&self, agent: Option<String>, attempts: u32, fault: AttemptError) -> StepFailure {
        StepFailure {
            step: self.step.id.clone(),
            skill: self.step.skill.clone(),
            agent,
            attempts,
            fault,
        }
    }

    /// Reports the state of the step, as text for people and as data for programs.
    async fn tell(&self, state: &str, agent: Option<&str>, attempt: u32) -> Result<(), P::Error> {
        let Step { id, skill, .. } = self.step;
        let at = agent.map(|agent| format!(" at {agent}")).unwrap_or_default();
        let data = json!({
            "step": id, "skill": skill, "agent": agent, "state": state, "attempt": attempt,
        });
        let text = format!("step {id}, {skill}{at}: {state}");
        let parts = vec![Part::text(text), Part::data(data)];
        self.progress.send(parts).await
    }

    async fn report_retry(
        &self,
        fault: &AttemptError,
        attempt: u32,
        pause: Duration,
    ) -> Result<(), P::Error> {
        let Step { id, skill, retries, .. } = self.step;
        let text = format!(
            "step {id}, {skill}: attempt {attempt} of {} failed: {fault}; again in {pause:?}",
            retries + 1
        );
        self.progress.send(vec![Part::text(text)]).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::{
        error::Failure,
        fixture::{Answer, Ignored, ScriptedDirectory, pipeline},
    };

    async fn perform(config: &str, agent_directory: &ScriptedDirectory) -> Result<Done, String> {
        let pipeline = pipeline(&format!("[[config.step]]\nid = 'plan'\nskill = 'p'\n{config}"));
        let performer =
            StepRunner { step: &pipeline.steps[0], agent_directory, progress: &Ignored };
        performer.perform(&Map::new()).await.map_err(|ended| match ended {
            RunError::Failure(Failure::Step(failure)) => failure.to_string(),
            other => panic!("the step fails, and not {other:?}"),
        })
    }

    #[tokio::test(start_paused = true)]
    async fn a_step_is_tried_again_until_it_is_done() {
        let agent_directory = ScriptedDirectory::default()
            .with("p", [Answer::Fails("too hot"), Answer::Hangs, Answer::Gives(json!(7))]);
        let config = "retries = 3\nbackoff = '1s'\ntimeout = '5s'\n";
        let begun = tokio::time::Instant::now();
        let done = perform(config, &agent_directory).await.unwrap();
        assert_eq!((done.attempts, done.output), (3, json!(7)));
        assert_eq!(done.agent, "p-agent");
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
