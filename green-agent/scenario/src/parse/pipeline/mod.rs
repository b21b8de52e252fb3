//! Reads the `[config]` of `evaluator = "pipeline"`: the sources of agents, the steps, and the result.
//!
//! - [`step`]: one step and its dependencies
//! - [`reference`]: references to the requirements or to a step's output

mod order;
mod reference;
mod step;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde_json::{Value, json};

use super::{
    agent_address::{AgentAddressText, agent_address},
    credential::{self, CredentialKeys},
    evaluator::PIPELINE,
    roles::DeclaredRoles,
};
use crate::{
    duration::Limit,
    model::Evaluator,
    pipeline::{Agents, Pipeline, RESERVED_RESULTS},
    reader::{Key, Node, Table, kind, table},
};
use reference::{ReferenceText, result};
use step::{StepKeys, step};

table! {
    /// The settings of the built-in evaluator that has agents, found by skill, carry out steps.
    pub(crate) struct PipelineKeys<'a> as "Pipeline", closed {
        /// The name of the built-in evaluator.
        later_required evaluator: Key<'a> as String {"const": PIPELINE},
        /// The requirements, JSON of any kind. A pipeline that is served gets them from its caller.
        optional requirements: Value,
        /// Agents, and catalogues of agents, among which those with the skills are found: URLs or roles. The
        /// participants if there are neither agents nor a registry.
        later agents: Key<'a> as Vec<AgentAddressText>,
        /// An OCI registry in which the cards of agents with the skills are found: its URL or role.
        later registry: Key<'a> as AgentAddressText,
        /// The credentials that agents and the registry are sent.
        later credential: Key<'a> as Vec<CredentialKeys<'a>>,
        /// The most steps that run at the same time.
        default parallel: usize as Parallel = 4,
        /// The time limit of all steps together.
        default timeout: Duration as Limit = "10m",
        /// The steps. Each begins when those whose outputs it needs have ended.
        later_required step: Key<'a> as Vec<StepKeys<'a>> {"minItems": 1},
        /// The members of the result, by name; every step's output under its id if absent.
        later result: Key<'a> as BTreeMap<String, ReferenceText> {"propertyNames": {"not": {"enum": RESERVED_RESULTS}}},
    }
}

kind! {
    /// A number of steps.
    inline Parallel => usize, |node| node.integer(1);
    |_| json!({"type": "integer", "minimum": 1})
}

/// Reads `[config]` of `evaluator = "pipeline"`.
pub(super) fn pipeline(config: &mut Table<'_>, roles: &DeclaredRoles) -> Option<Evaluator> {
    const EXPECTED: &str = "at least one [[config.step]] with id and skill";
    let keys = PipelineKeys::of(config)?;
    let steps = keys.step.need(EXPECTED);
    let nodes = steps.and_then(Node::list).unwrap_or_default();
    if let (true, Some(steps)) = (nodes.is_empty(), &steps) {
        steps.expected::<()>(EXPECTED);
    }
    let tables =
        nodes.iter().filter_map(|node| Some((node.line(), StepKeys::of(&mut node.table()?)?)));
    let tables: Vec<_> = tables.collect();
    // The ids of steps with other mistakes are included.
    let ids = tables.iter().filter_map(|(_, step)| step.id.node()?.as_text());
    let ids: BTreeSet<String> = ids.map(str::to_owned).collect();
    let steps = tables.iter().filter_map(|(line, keys)| step(*line, keys, &ids));
    let listed = keys.agents.node();
    let listed = listed.and_then(|list| list.list_of(|node| agent_address(node, roles)));
    let result = keys.result.node().and_then(|node| result(node, &ids));
    let pipeline = Pipeline {
        steps: steps.collect(),
        agents: Agents {
            listed: listed.unwrap_or_default(),
            registry: keys.registry.node().and_then(|node| agent_address(node, roles)),
        },
        credentials: keys.credential.tables(|table| credential::credential(table, roles)),
        result: result.unwrap_or_default(),
        requirements: keys.requirements.clone(),
        parallel: keys.parallel,
        timeout: keys.timeout,
    };
    check_participants(&keys, &pipeline, roles);
    let whole = pipeline.steps.len() == nodes.len() && !nodes.is_empty();
    if whole {
        order::check(&nodes, &pipeline);
    }
    whole.then_some(Evaluator::Pipeline(pipeline))
}

/// Checks that there is a participant to call, and none that only calls.
fn check_participants(keys: &PipelineKeys<'_>, pipeline: &Pipeline, roles: &DeclaredRoles) {
    let Some(node) = keys.evaluator.node() else {
        return;
    };
    if let Some(client) = roles.agents.iter().find(|agent| agent.start.is_client()) {
        let role = &client.role;
        node.expected::<()>(format!(
            "another one for {role:?}, which does not listen and cannot be called"
        ));
    }
    if pipeline.agents.is_empty() && roles.declared == 0 {
        keys.agents
            .missing::<()>("agents or registry where there are no participants to look among");
    }
}
