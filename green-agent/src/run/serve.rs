//! `--serve-only`: starts a scenario's agents and keeps them running until the user ends it.

use super::{
    Owner, Problem, RunEvent, RunOptions, agent_set::AgentSet, hops, plan::supply, requirements,
    start, trial, trial_agents::TrialAgents, watch,
};
use crate::scenario::model::Scenario;

/// The reason why agents could not be served.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ServeError(pub Problem);

/// Starts the scenario's agents and waits for the interrupt. Nothing is recorded or evaluated.
///
/// # Errors
/// If an agent cannot be started, does not become ready, or ends by itself.
pub async fn serve(scenario: &Scenario, options: &RunOptions) -> Result<(), ServeError> {
    let mut scenario = scenario.clone();
    supply(&mut scenario, options).map_err(ServeError)?;
    let scenario = &scenario;
    let installed = requirements::prepare(scenario, options).await.map_err(ServeError)?;
    let folder = options.folder.join(&scenario.name);
    trial::make_folder(&folder).map_err(ServeError)?;
    let mut agents =
        TrialAgents::prepare(scenario, &installed, 1, &folder, &AgentSet::default(), options)
            .map_err(ServeError)?;
    let hops = hops::hops(scenario, &agents);
    // Nothing is recorded, so each hop uses the agent's own address.
    agents.fill_in(scenario, |hop| {
        let spec = hops.iter().find(|spec| spec.hop == *hop)?;
        Some(spec.upstream.clone())
    });
    let mut processes = Vec::new();
    let served = async {
        start::start_all(&agents, None, &mut processes)?;
        for handle in &agents.handles {
            start::ready(handle, scenario, &processes, options).await?;
            if let Some(endpoint) = &handle.endpoint {
                options.emit(RunEvent::Serving {
                    role: handle.role.clone(),
                    url: endpoint.to_string(),
                });
            }
        }
        // Nothing is evaluated, so a crash is not counted as the agent's failure.
        let crash = watch::crash_of(&processes, scenario).await;
        Err(crash.owned_by(Owner::Harness))
    };
    let ended = tokio::select! {
        ended = served => ended,
        () = options.interrupted() => Ok(()),
    };
    watch::stop(processes, scenario.harness.timeout.stop).await;
    ended.map_err(ServeError)
}
