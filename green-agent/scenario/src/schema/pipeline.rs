//! The shape of `[config]` for the built-in evaluator `pipeline`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde_json::{Value, json};

use super::harness::{Duration, Limit};
use crate::{
    parse::{PARALLEL, PIPELINE},
    pipeline::{REQUIREMENTS, RESERVED_RESULTS},
};

/// The settings of the built-in evaluator that has agents, found by skill, carry out steps.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
pub(super) struct Pipeline {
    /// The name of the built-in evaluator.
    #[schemars(extend("const" = PIPELINE))]
    evaluator: String,
    /// The requirements, JSON of any kind. A pipeline that is served gets them from its caller.
    requirements: Option<Value>,
    /// Agents, and catalogues of agents, among which those with the skills are found: URLs or roles. The
    /// participants if there are neither agents nor a registry.
    agents: Option<Vec<Place>>,
    /// An OCI registry in which the cards of agents with the skills are found: its URL or role.
    registry: Option<Place>,
    /// The credentials that agents and the registry are sent.
    credential: Option<Vec<Credential>>,
    /// The most steps that run at the same time.
    #[schemars(range(min = 1), extend("default" = PARALLEL))]
    parallel: Option<u32>,
    /// The longest that all steps together may take.
    #[schemars(extend("default" = "10m"))]
    timeout: Option<Limit>,
    /// The steps. Each begins when those whose outputs it needs have ended.
    #[schemars(length(min = 1))]
    step: Vec<Step>,
    /// The members of the result, by name; every step's output under its id if absent.
    #[schemars(extend("propertyNames" = {"not": {"enum": RESERVED_RESULTS}}))]
    result: Option<BTreeMap<String, Reference>>,
}

/// A credential for one agent, or for the registry: sent either by a scheme of the agent's card or in a
/// header.
#[derive(JsonSchema)]
#[schemars(
    deny_unknown_fields,
    extend("oneOf" = [{"required": ["scheme"]}, {"required": ["header"]}])
)]
#[expect(dead_code, reason = "only its shape is used")]
struct Credential {
    /// The receiver: a role, or a URL, which must be https unless it is on this machine. The secret is sent
    /// to that address only.
    agent: Place,
    /// The security scheme of this name in the agent's card, which says how the secret is sent; for a
    /// registry basic, with user:password, or bearer.
    #[schemars(regex(pattern = r"\S"))]
    scheme: Option<String>,
    /// The header that carries the secret unchanged, for agents whose cards name no schemes.
    #[schemars(regex(pattern = r"\S"))]
    header: Option<String>,
    /// The source of the secret, which is never written in the file itself.
    secret: SecretPlace,
}

/// An environment variable or one of .env, or a file whose path is relative to the folder in which agents
/// run.
#[derive(JsonSchema)]
#[schemars(
    deny_unknown_fields,
    extend("oneOf" = [{"required": ["env"]}, {"required": ["file"]}])
)]
#[expect(dead_code, reason = "only its shape is used")]
struct SecretPlace {
    /// The variable's name.
    #[schemars(length(min = 1))]
    env: Option<String>,
    /// The file's path.
    #[schemars(length(min = 1))]
    file: Option<String>,
}

/// One step of a pipeline.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
struct Step {
    /// The name of the step's output in references.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_-]+$"), extend("not" = {"const": REQUIREMENTS}))]
    id: String,
    /// The id of the step's skill.
    #[schemars(regex(pattern = r"\S"))]
    skill: String,
    /// The skill's parameters.
    input: Option<BTreeMap<String, Parameter>>,
    /// Steps that must have ended before, in addition to those whose outputs it needs.
    after: Option<Vec<String>>,
    /// The number of retries.
    #[schemars(range(min = 0), extend("default" = 0))]
    retries: Option<u32>,
    /// The pause before the first retry; each further pause is twice as long.
    #[schemars(extend("default" = "500ms"))]
    backoff: Option<Duration>,
    /// The longest that one attempt may take.
    timeout: Option<Limit>,
}

/// A parameter: a reference, or a table with the value itself.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its shape is used")]
enum Parameter {
    From(Reference),
    Value(Literal),
}

/// A literal value.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
struct Literal {
    /// JSON of any kind.
    value: Value,
}

/// A reference to a value in the requirements or in the outputs of steps: a JSON pointer such as
/// "/plan/steps" or a JSONPath such as "$.plan.steps", which begins with requirements or a step's id.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its shape is used")]
struct Reference(#[schemars(regex(pattern = r"^[/$]"))] String);

/// A URL, or the role of a participant.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its shape is used")]
struct Place(#[schemars(length(min = 1))] String);

/// Returns the condition that a config names this evaluator.
pub(super) fn named() -> Value {
    json!({
        "required": ["config"],
        "properties": {"config": {"required": ["evaluator"], "properties": {"evaluator": {"const": PIPELINE}}}},
    })
}
