//! Reads the `[config]` of `evaluator = "pipeline"`: where agents are looked for, the steps, and the result.
//!
//! - [`step`]: one step and its dependencies
//! - [`reference`]: references to the requirements or to a step's output

mod order;
mod reference;
mod step;
#[cfg(test)]
mod tests;

use std::time::Duration;

use super::{credential, place::place, roles::DeclaredRoles, values};
use crate::{
    model::Evaluator,
    pipeline::{Agents, Pipeline},
    reader::{Node, Table},
};
use reference::result;
use step::{ids, step};

/// The default for the number of steps that run at the same time.
pub(crate) const PARALLEL: usize = 4;

/// The default time limit of a pipeline.
const TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// Reads `[config]` of `evaluator = "pipeline"`.
pub(super) fn pipeline(config: &mut Table<'_>, roles: &DeclaredRoles) -> Option<Evaluator> {
    let _ = config.get("evaluator");
    let requirements = config.get("requirements").and_then(|node| node.json());
    let steps = config.need("step", "at least one [[config.step]] with id and skill");
    let nodes = steps.as_ref().and_then(Node::list).unwrap_or_default();
    if let (true, Some(steps)) = (nodes.is_empty(), &steps) {
        steps.expected::<()>("at least one [[config.step]] with id and skill");
    }
    let ids = ids(&nodes);
    let steps = nodes
        .iter()
        .filter_map(|node| step(&mut node.table()?, &ids));
    let pipeline = Pipeline {
        requirements,
        agents: agents(config, roles),
        credentials: credential::credentials(config, roles),
        steps: steps.collect(),
        result: config
            .table("result")
            .map(|table| result(&table, &ids))
            .unwrap_or_default(),
        parallel: config
            .get("parallel")
            .and_then(|node| node.integer(1))
            .unwrap_or(PARALLEL),
        timeout: config
            .get("timeout")
            .and_then(|node| values::limit(&node))
            .unwrap_or(TIMEOUT),
    };
    check_participants(config, &pipeline, roles);
    let whole = pipeline.steps.len() == nodes.len() && !nodes.is_empty();
    if whole {
        order::check(&nodes, &pipeline);
    }
    config.reject_unknown();
    whole.then_some(Evaluator::Pipeline(pipeline))
}

fn agents(config: &mut Table<'_>, roles: &DeclaredRoles) -> Agents {
    let listed = config
        .get("agents")
        .and_then(|list| list.list_of(|node| place(node, roles)));
    Agents {
        listed: listed.unwrap_or_default(),
        registry: config.get("registry").and_then(|node| place(&node, roles)),
    }
}

/// Checks that there is a participant to call, and none that only calls.
fn check_participants(config: &mut Table<'_>, pipeline: &Pipeline, roles: &DeclaredRoles) {
    let Some(node) = config.get("evaluator") else {
        return;
    };
    if let Some(client) = roles.agents.iter().find(|agent| agent.start.is_client()) {
        let role = &client.role;
        node.expected::<()>(format!(
            "another one for {role:?}, which listens nowhere and cannot be asked"
        ));
    }
    if pipeline.agents.is_empty() && roles.declared == 0 {
        config.missing::<()>(
            "agents",
            "agents or registry where there are no participants to look among",
        );
    }
}
