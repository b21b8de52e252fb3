//! Participants that ask for their evaluation themselves, as clients of the green agent.

use std::{sync::Arc, time::Duration};

use bridge_program::chain;
use mcp_tools::connection::ConnectionDetails;
use purple_agent::{
    agent::Notice,
    run::{Report, RunSettings},
};
use url::Url;

use super::{
    episode_setup::EpisodeSetup,
    hops::{caller, to_green},
    hosted::purple,
    problem::last_printed,
    start::started,
    trial_agents::{AgentStart, TrialAgents},
};
use crate::{
    assessment::Assessment,
    evaluator::{Evaluation, EvaluationError, Listener},
    participant::Launch,
    recorder::Recorder,
    scenario::model::{Policy, Scenario},
    transcript::Transcript,
};

/// A participant that calls the green agent.
pub(super) struct EvaluationCaller<'a> {
    role: &'a str,
    green: Url,
    who: CallerKind<'a>,
    stop: Duration,
}

enum CallerKind<'a> {
    Program(&'a Launch),
    Policy(&'a Policy, Option<ConnectionDetails>),
}

impl<'a> EvaluationCaller<'a> {
    /// Returns the participant that calls, if the scenario has one.
    pub(super) fn of(
        scenario: &'a Scenario,
        agents: &'a TrialAgents,
        recorder: &Recorder,
    ) -> Option<Self> {
        let role = caller(scenario)?;
        let handle = agents.handles.iter().find(|handle| handle.role == role)?;
        let who = match &handle.start {
            AgentStart::Client(launch) => CallerKind::Program(launch),
            AgentStart::Caller(policy) => CallerKind::Policy(policy, handle.tools.clone()),
            AgentStart::None | AgentStart::Program { .. } | AgentStart::Hosted { .. } => {
                return None;
            }
        };
        Some(Self {
            role,
            green: recorder.url(&to_green(role))?,
            who,
            stop: scenario.harness.timeout.stop,
        })
    }

    /// Runs the participant until it has ended, then reads the assessment from the transcript.
    pub(super) async fn assess(
        &self,
        evaluation: &Evaluation<'_>,
        episode_setup: Option<&EpisodeSetup>,
        transcript: &Transcript,
        listener: &Listener,
    ) -> Result<Assessment, EvaluationError> {
        let how = match &self.who {
            CallerKind::Program(launch) => self.run_program(launch).await?,
            CallerKind::Policy(policy, tools) => {
                let preset = tools.clone().or_else(|| episode_setup?.preset.clone());
                self.run_policy(policy, preset, listener).await?
            }
        };
        // No participant works in an episode any more, so the evaluator has nothing to wait for.
        if let Some(episode_setup) = episode_setup {
            episode_setup.evaluator.end_all();
        }
        let entries = transcript.said();
        let entries = entries.map_err(|error| EvaluationError::Evaluator(chain(&error)))?;
        evaluation.recorded(self.role, &how, &entries).await
    }

    async fn run_program(&self, launch: &Launch) -> Result<String, EvaluationError> {
        let program = started(launch);
        let program = program.map_err(|problem| EvaluationError::NotAsked {
            role: self.role.to_owned(),
            how: problem.message,
        })?;
        let exit = program.wait().await;
        program.stop(self.stop).await;
        Ok(format!("it {exit}{}", last_printed(&program.last_lines())))
    }

    async fn run_policy(
        &self,
        policy: &Policy,
        preset: Option<ConnectionDetails>,
        listener: &Listener,
    ) -> Result<String, EvaluationError> {
        let agent = purple(policy, preset)
            .map_err(|error| EvaluationError::Evaluator(error.to_string()))?;
        let (role, listener) = (self.role.to_owned(), listener.clone());
        let hear = Arc::new(move |notice: &Notice| listener(&format!("{role}: {notice}")));
        let settings = RunSettings::default();
        let ended = Box::pin(purple_agent::run(&self.green, &agent, &settings, hear)).await;
        Ok(match ended {
            Ok(Report { outcome: Some(outcome), .. }) if outcome.ended.is_model_fault() => {
                return Err(EvaluationError::Model(outcome.ended.to_string()));
            }
            Ok(Report { outcome: Some(outcome), .. }) => format!("it {}", outcome.ended),
            Ok(Report { outcome: None, .. }) => "it was refused".to_owned(),
            Err(error) => error.to_string(),
        })
    }
}
