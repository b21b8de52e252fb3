//! Reads the `[config]` of `evaluator = "pipeline"`: the sources of agents, the steps with their dependencies, and the result.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde_json::{Value, json};

use super::{
    credential::{self, CredentialKeys},
    expect,
    green::PIPELINE,
    roles::{AgentAddressText, DeclaredRoles, agent_address},
};
use crate::{
    duration::{AnyDuration, Limit},
    model::Evaluator,
    pipeline::{
        Agents, Input, Pipeline, REQUIREMENTS, RESERVED_RESULTS, Reference, Step, first_name,
    },
    reader::{Key, Node, Table, kind, table},
};

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
        check_order(&nodes, &pipeline);
    }
    whole.then_some(Evaluator::Pipeline(pipeline))
}

/// Checks that there is a participant to call, and none that only calls.
fn check_participants(keys: &PipelineKeys<'_>, pipeline: &Pipeline, roles: &DeclaredRoles) {
    let Some(node) = keys.evaluator.node() else {
        return;
    };
    roles.reject_clients(node);
    if pipeline.agents.is_empty() && roles.declared == 0 {
        keys.agents
            .missing::<()>("agents or registry where there are no participants to look among");
    }
}

/// Checks that every id is unique, and that no step depends on itself.
fn check_order(nodes: &[Node<'_>], pipeline: &Pipeline) {
    let mut seen = BTreeSet::new();
    for (node, step) in nodes.iter().zip(&pipeline.steps) {
        if !seen.insert(&step.id) {
            node.expected::<()>(format!("another id, because {:?} is taken", step.id));
        } else if waits_for(pipeline, step).contains(step.id.as_str()) {
            node.expected::<()>(format!(
                "a step that can begin, because {:?} waits for itself",
                step.id
            ));
        }
    }
}

/// Returns all steps on which a step depends, directly or not.
fn waits_for<'a>(pipeline: &'a Pipeline, step: &'a Step) -> BTreeSet<&'a str> {
    let mut all = BTreeSet::new();
    let mut open: Vec<&str> = step.needs().into_iter().collect();
    while let Some(id) = open.pop() {
        if all.insert(id) {
            let named = pipeline.steps.iter().filter(|other| other.id == id);
            open.extend(named.flat_map(Step::needs));
        }
    }
    all
}

table! {
    /// One step of a pipeline.
    struct StepKeys<'a> as "Step", closed {
        /// The name of the step's output in references.
        later_required id: Key<'a> as String {"pattern": "^[A-Za-z0-9_-]+$", "not": {"const": REQUIREMENTS}},
        /// The id of the step's skill.
        later_required skill: Key<'a> as String {"pattern": r"\S"},
        /// The skill's parameters.
        later input: Key<'a> as BTreeMap<String, Parameter>,
        /// Steps that must have ended before, in addition to those whose outputs it needs.
        later after: Key<'a> as Vec<String>,
        /// The number of retries.
        default retries: u32 = 0,
        /// The pause before the first retry; each further pause is twice as long.
        default backoff: Duration as AnyDuration = "500ms",
        /// The time limit of one attempt.
        optional timeout: Duration as Limit,
    }
}

table! {
    /// A literal value.
    // The table is open, because other keys are reported only beside a value.
    struct LiteralKeys<'a> as "Literal", open, with(|_| json!({"additionalProperties": false})) {
        /// JSON of any kind.
        later_required value: Key<'a> as Value,
    }
}

kind! {
    /// A parameter: a reference, or a table with the value itself.
    enum Parameter;
    |generator| {
        let reference = generator.subschema_for::<ReferenceText>();
        json!({"anyOf": [reference, generator.subschema_for::<LiteralKeys<'_>>()]})
    }
}

/// Reads the step on a line; `ids` are those of all steps.
fn step(line: usize, keys: &StepKeys<'_>, ids: &BTreeSet<String>) -> Option<Step> {
    let expected = format!("letters, digits, dashes and underscores, and not {REQUIREMENTS:?}");
    let id = keys.id.need("the name of the step's output");
    let id = id.and_then(|node| node.read(&expected, |text| is_id(text).then(|| text.to_owned())));
    let skill = keys.skill.need("the id of the skill that does it");
    let skill = skill.and_then(|node| node.filled("the id of a skill"));
    let input = keys.input.node().and_then(|node| input(node, ids));
    let after = keys.after.node().and_then(|node| after(node, ids));
    Some(Step {
        line,
        id: id?,
        skill: skill?,
        input: input.unwrap_or_default(),
        after: after.unwrap_or_default(),
        retries: keys.retries,
        backoff: keys.backoff,
        timeout: keys.timeout,
    })
}

/// Returns whether a text can be an id. Ids are parts of pointers and paths, so they contain nothing that
/// needs escaping there.
fn is_id(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !text.is_empty() && text.chars().all(plain) && text != REQUIREMENTS
}

fn input(node: &Node<'_>, ids: &BTreeSet<String>) -> Option<BTreeMap<String, Input>> {
    let table = node.table()?;
    let parameters = table.entries();
    let parameters =
        parameters.filter_map(|(name, node)| Some((name.to_owned(), parameter(&node, ids)?)));
    Some(parameters.collect())
}

/// Reads a parameter. A text is a reference; a literal value is in a table under `value`.
fn parameter(node: &Node<'_>, ids: &BTreeSet<String>) -> Option<Input> {
    if node.as_text().is_some() {
        return reference(node, ids).map(Input::From);
    }
    let mut table = match node.is_table() {
        true => node.table()?,
        false => return node.expected(format!("{REFERENCE}, or {{ value = ... }}")),
    };
    let keys = LiteralKeys::of(&mut table)?;
    let value = keys.value.need("the parameter's value")?.json();
    table.reject_unknown();
    value.map(Input::Value)
}

fn after(node: &Node<'_>, ids: &BTreeSet<String>) -> Option<BTreeSet<String>> {
    let known: Vec<&str> = ids.iter().map(String::as_str).collect();
    let expected = format!("the id of a step: {}", known.join(", "));
    let named = node
        .list_of(|node| node.read(&expected, |text| ids.contains(text).then(|| text.to_owned())));
    Some(named?.into_iter().collect())
}

kind! {
    /// A reference to a value in the requirements or in the outputs of steps: a JSON pointer such as
    /// "/plan/steps" or a JSONPath such as "$.plan.steps", which begins with requirements or a step's id.
    enum ReferenceText as "Reference";
    |_| json!({"type": "string", "pattern": r"^[/$]"})
}

/// The description of a reference in messages.
const REFERENCE: &str = "a JSON pointer such as \"/plan/steps\" or a JSONPath such as \"$.plan.steps\" that begins \
                         with requirements or a step's id";

/// Reads a reference, and checks that its source exists.
fn reference(node: &Node<'_>, ids: &BTreeSet<String>) -> Option<Reference> {
    let path = expect::value_path(node)?;
    match first_name(&path) {
        Some(source) if source == REQUIREMENTS || ids.contains(&source) => {
            Some(Reference { source, path })
        }
        Some(_) | None => {
            let known: Vec<&str> = ids.iter().map(String::as_str).collect();
            node.expected(format!("{REFERENCE} ({})", known.join(", ")))
        }
    }
}

/// Reads `[config.result]`.
fn result(node: &Node<'_>, ids: &BTreeSet<String>) -> Option<BTreeMap<String, Reference>> {
    let table = node.table()?;
    let members = table.entries().filter_map(|(name, node)| {
        if RESERVED_RESULTS.contains(&name) {
            return node.expected(format!(
                "another name, because the evaluator adds {} itself",
                RESERVED_RESULTS.join(" and ")
            ));
        }
        Some((name.to_owned(), reference(&node, ids)?))
    });
    Some(members.collect())
}

#[cfg(test)]
mod tests;
