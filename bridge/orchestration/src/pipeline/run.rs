//! Runs a pipeline: starts every step whose inputs are available, up to the limit of parallel steps, and stops at the
//! first failure.

use bridge_protocol::a2a::Part;
use futures_util::{StreamExt as _, stream::FuturesUnordered};
use serde_json::Value;
use tokio::time::timeout;

use super::{
    directory::AgentDirectory,
    document::Document,
    error::{Failure, RunError},
    model::{Pipeline, Step},
    progress::Progress,
    result::{PipelineProgress, State, States},
    schedule::Schedule,
    step::Done,
};

/// A pipeline with the directory and the limits of a run.
pub(super) struct PipelineRun<'a, P> {
    pub(super) pipeline: &'a Pipeline,
    pub(super) directory: &'a dyn AgentDirectory,
    pub(super) progress: &'a P,
}

impl<'a, P: Progress> PipelineRun<'a, P> {
    /// Runs the pipeline to its end. A step that fails ends the others, whose tasks are canceled at their
    /// agents.
    pub(super) async fn run(&self, requirements: Value) -> Result<PipelineProgress<'a>, P::Error> {
        let mut states = States::new(&self.pipeline.steps);
        let mut document = Document::new(requirements);
        let limit = self.pipeline.timeout;
        let playing = self.running(&mut document, &mut states);
        let failure = match timeout(limit, playing).await {
            Ok(Ok(())) => None,
            Ok(Err(RunError::Step(failure))) => {
                states.failed(&failure);
                Some(Failure::Step(failure))
            }
            Ok(Err(RunError::Abandoned(error))) => return Err(error),
            Err(_over) => {
                let running = states.working();
                Some(Failure::TimedOut { limit, running })
            }
        };
        states.canceled();
        Ok(PipelineProgress { states, result: document.result(&self.pipeline.result), failure })
    }

    async fn running(
        &self,
        document: &mut Document,
        states: &mut States<'a>,
    ) -> Result<(), RunError<P::Error>> {
        let mut schedule = Schedule::new(&self.pipeline.steps);
        let mut running = FuturesUnordered::new();
        loop {
            while running.len() < self.pipeline.parallel
                && let Some(step) = schedule.next()
            {
                let input = document.input(step);
                let input = input.map_err(|fault| RunError::Step(step.failure(None, 0, fault)))?;
                states.set(&step.id, State::Working);
                running.push(self.perform(step, input));
            }
            let Some(ended) = running.next().await else {
                return Ok(());
            };
            let Done { step, agent, attempts, output } = ended?;
            states.set(&step.id, State::Completed { agent, attempts });
            document.add(&step.id, output);
            schedule.done(step);
            self.show(step, document).await?;
        }
    }

    /// Sends the parts of the result that this step completes, so that callers need not wait for the last
    /// step.
    async fn show(&self, step: &Step, document: &Document) -> Result<(), P::Error> {
        for (name, value) in document.result(&self.pipeline.result) {
            let source = match self.pipeline.result.get(&name) {
                Some(reference) => reference.step(),
                None => Some(name.as_str()),
            };
            if source == Some(step.id.as_str()) {
                self.progress.show(&name, vec![part(value)]).await?;
            }
        }
        Ok(())
    }
}

/// Returns a member of the result as a text part, with JSON as text. The task has only one data part, its whole result,
/// which callers of the pipeline's skill read.
fn part(value: Value) -> Part {
    match value {
        Value::String(text) => Part::text(text),
        other => Part {
            media_type: Some("application/json".to_owned()),
            ..Part::text(other.to_string())
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use std::convert::Infallible;

    use super::*;
    use crate::pipeline::PipelineError;
    use crate::pipeline::fixture::{Answer, Ignored, ScriptedDirectory, pipeline};

    const PLAN_BUILD_TEST: &str = "timeout = '1m'\n\
        [[config.step]]\nid = 'plan'\nskill = 'create_plan'\ninput = { requirements = '/requirements' }\n\
        [[config.step]]\nid = 'code'\nskill = 'generate_code'\ninput = { plan = '/plan/plan' }\n\
        [[config.step]]\nid = 'review'\nskill = 'review_code'\ninput = { code = '/code/code' }\n\
        [config.result]\nplan = '/plan/plan'\ncode = '/code/code'\nreview = '/review'\n";

    fn agent_directory() -> ScriptedDirectory {
        ScriptedDirectory::default()
            .with("create_plan", [Answer::Gives(json!({"plan": "p"}))])
            .with("generate_code", [Answer::Gives(json!({"code": "c"}))])
            .with("review_code", [Answer::Gives(json!({"review": "r"}))])
    }

    /// Runs the pipeline; returns the verdict's result and failure.
    async fn run(config: &str, directory: &ScriptedDirectory) -> (Value, Option<String>) {
        let pipeline = pipeline(config);
        let course = PipelineRun { pipeline: &pipeline, directory, progress: &Ignored };
        let played = course.run(json!("fib")).await.unwrap();
        let ended: Result<_, PipelineError<Infallible>> = played.end(&[]);
        let result = ended.unwrap();
        (Value::Object(result.members), result.failure)
    }

    #[tokio::test]
    async fn the_output_of_a_step_is_the_input_of_the_next() {
        let agent_directory = agent_directory();
        let (result, failure) = run(PLAN_BUILD_TEST, &agent_directory).await;
        assert_eq!(failure, None);
        assert_eq!(result["score"], 1.0);
        assert_eq!(
            [&result["plan"], &result["code"], &result["review"]],
            [&json!("p"), &json!("c"), &json!({"review": "r"})]
        );
        let calls = agent_directory.calls.lock().unwrap();
        let inputs: Vec<&Value> = calls.iter().map(|(_, input)| input).collect();
        assert_eq!(
            inputs,
            [&json!({"requirements": "fib"}), &json!({"plan": "p"}), &json!({"code": "c"})]
        );
    }

    #[tokio::test]
    async fn a_failure_keeps_what_was_done_before() {
        let agent_directory = agent_directory().with("generate_code", [Answer::Fails("no idea")]);
        let (result, failure) = run(PLAN_BUILD_TEST, &agent_directory).await;
        assert_eq!(failure.unwrap(), "step code, generate_code at generate_code-agent: no idea");
        insta::assert_json_snapshot!("failed_half_way", result);
        assert_eq!(agent_directory.called(), ["create_plan", "generate_code"]);
    }

    #[tokio::test]
    async fn a_reference_that_leads_nowhere_ends_it_before_anybody_is_asked() {
        let agent_directory =
            agent_directory().with("create_plan", [Answer::Gives(json!({"steps": []}))]);
        let (_, failure) = run(PLAN_BUILD_TEST, &agent_directory).await;
        assert_eq!(
            failure.unwrap(),
            "step code, generate_code: input.plan: nothing at /plan/plan; plan has steps"
        );
        assert_eq!(agent_directory.called(), ["create_plan"]);
    }

    #[tokio::test(start_paused = true)]
    async fn all_steps_together_have_a_limit() {
        let agent_directory = agent_directory().with("generate_code", [Answer::Hangs]);
        let (result, failure) = run(PLAN_BUILD_TEST, &agent_directory).await;
        assert_eq!(
            failure.unwrap(),
            "the pipeline took longer than 60s (config.timeout), running: code"
        );
        assert_eq!(result["steps"][1]["state"], "canceled");
        assert_eq!(result["steps"][2]["state"], "not-begun");
    }

    #[tokio::test(start_paused = true)]
    async fn independent_steps_run_at_the_same_time() {
        const FAN: &str = "[[config.step]]\nid = 'plan'\nskill = 'create_plan'\n\
            [[config.step]]\nid = 'code'\nskill = 'generate_code'\ninput = { plan = '/plan' }\n\
            [[config.step]]\nid = 'docs'\nskill = 'write_docs'\ninput = { plan = '/plan' }\n";
        let agent_directory = agent_directory()
            .with("generate_code", [Answer::Hangs])
            .with("write_docs", [Answer::Fails("no words")]);
        let (result, failure) = run(FAN, &agent_directory).await;
        assert_eq!(failure.unwrap(), "step docs, write_docs at write_docs-agent: no words");
        assert_eq!(result["steps"][1]["state"], "canceled");
        assert_eq!(agent_directory.called(), ["create_plan", "generate_code", "write_docs"]);
        // With one step at a time, the first never lets the other begin.
        let (_, failure) =
            run(&format!("parallel = 1\ntimeout = '9s'\n{FAN}"), &agent_directory).await;
        assert!(failure.unwrap().ends_with("running: code"));
    }
}
