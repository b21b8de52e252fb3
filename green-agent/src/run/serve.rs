//! `--serve-only`: starts a scenario's agents and keeps them until the user ends it.

use std::sync::Arc;

use super::{
    Owner, Problem, RunEvent, RunOptions,
    cast::{Cast, Player},
    hops, requirements,
    scenario::supply,
    trial, watch,
};
use crate::{participant::ready::wait_ready, scenario::model::Scenario};

/// Why agents could not be served.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ServeError(pub Problem);

/// Starts the scenario's agents and waits; nothing is recorded or evaluated.
///
/// # Errors
/// If an agent cannot be started or does not become ready, or ends by itself.
pub async fn serve(scenario: &Scenario, options: &RunOptions) -> Result<(), ServeError> {
    let mut scenario = scenario.clone();
    supply(&mut scenario, options).map_err(ServeError)?;
    let scenario = &scenario;
    let installed = requirements::prepare(scenario, options)
        .await
        .map_err(ServeError)?;
    let folder = options.folder.join(&scenario.name);
    trial::make_folder(&folder).map_err(ServeError)?;
    let mut cast = Cast::prepare(scenario, &installed, 1, &folder, Arc::new(|| ()), options)
        .map_err(ServeError)?;
    let hops = hops::hops(scenario, &cast);
    // Nothing is recorded, so each hop leads where it leads.
    cast.fill_in(scenario, |hop| {
        let spec = hops.iter().find(|spec| spec.hop == *hop)?;
        Some(spec.upstream.clone())
    });
    let mut agents = Vec::new();
    let served = async {
        trial::start(&cast, None, &mut agents)?;
        for player in &cast.players {
            ready(player, scenario, &agents, options).await?;
        }
        // Nothing is evaluated, so a crash is nobody's failure.
        let crash = watch::crash_of(&agents, scenario).await;
        Err(crash.owned_by(Owner::Harness))
    };
    let ended = tokio::select! {
        ended = served => ended,
        () = options.interrupted() => Ok(()),
    };
    watch::stop(agents, scenario.harness.timeout.stop).await;
    ended.map_err(ServeError)
}

async fn ready(
    player: &Player,
    scenario: &Scenario,
    agents: &[crate::participant::AgentProcess],
    options: &RunOptions,
) -> Result<(), Problem> {
    let Some(endpoint) = &player.endpoint else {
        return Ok(());
    };
    let process = agents.iter().find(|agent| agent.role() == player.role);
    let limit = scenario.harness.timeout.ready;
    let awaited = trial::awaited(player.listens);
    let ready = wait_ready(&player.role, endpoint, awaited, process, limit).await;
    ready.map_err(|error| super::judge::not_ready(&error))?;
    options.tell(RunEvent::Serving {
        role: player.role.clone(),
        url: endpoint.to_string(),
    });
    Ok(())
}
