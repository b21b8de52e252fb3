//! The shape of `[config]` for the built-in evaluator `pipeline`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde_json::{Value, json};

use super::harness::{Duration, Limit};
use crate::scenario::{
    parse::{PARALLEL, PIPELINE},
    pipeline::{REQUIREMENTS, RESERVED_RESULTS},
};

/// What the built-in evaluator is told: steps that are done by agents who have the skill for it.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
pub(super) struct Pipeline {
    /// The built-in evaluator.
    #[schemars(extend("const" = PIPELINE))]
    evaluator: String,
    /// What is asked for, JSON of any kind. A pipeline that is served is told by its caller.
    requirements: Option<Value>,
    /// Agents, and catalogues of agents, among which those with the skills are found: URLs or roles. The
    /// participants if there are neither agents nor a registry.
    agents: Option<Vec<Place>>,
    /// An OCI registry in which the cards of those with the skills are found: its URL or role.
    registry: Option<Place>,
    /// What agents are shown to be let in, and the registry.
    credential: Option<Vec<Credential>>,
    /// How many steps run at a time.
    #[schemars(range(min = 1), extend("default" = PARALLEL))]
    parallel: Option<u32>,
    /// The longest that all steps together may take.
    #[schemars(extend("default" = "10m"))]
    timeout: Option<Limit>,
    /// The steps. Each begins when those whose outputs it needs have ended.
    #[schemars(length(min = 1))]
    step: Vec<Step>,
    /// What the result is made of, by name; every step's output under its id if absent.
    #[schemars(extend("propertyNames" = {"not": {"enum": RESERVED_RESULTS}}))]
    result: Option<BTreeMap<String, Reference>>,
}

/// What lets the pipeline in at one agent, or at the registry: either by a scheme of its card or in a header.
#[derive(JsonSchema)]
#[schemars(
    deny_unknown_fields,
    extend("oneOf" = [{"required": ["scheme"]}, {"required": ["header"]}])
)]
#[expect(dead_code, reason = "only its shape is used")]
struct Credential {
    /// Who is shown it: a role, or a URL, beyond this machine one of https. It is sent there and nowhere else.
    agent: Place,
    /// The security scheme of this name in the agent's card, which says how it is shown; for a registry basic,
    /// with user:password, or bearer.
    #[schemars(regex(pattern = r"\S"))]
    scheme: Option<String>,
    /// The header that carries it as it is, for agents whose cards name no schemes.
    #[schemars(regex(pattern = r"\S"))]
    header: Option<String>,
    /// Where the secret is; it never stands in the file itself.
    secret: SecretPlace,
}

/// A variable of the environment or of .env, or a file as seen from the folder that agents run in.
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
    /// What the step's output is called in references.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_-]+$"), extend("not" = {"const": REQUIREMENTS}))]
    id: String,
    /// The id of the skill that does it.
    #[schemars(regex(pattern = r"\S"))]
    skill: String,
    /// The skill's parameters.
    input: Option<BTreeMap<String, Parameter>>,
    /// Steps that must have ended before, beside those whose outputs it needs.
    after: Option<Vec<String>>,
    /// How often it is tried again when it fails.
    #[schemars(range(min = 0), extend("default" = 0))]
    retries: Option<u32>,
    /// How long after a failure it is tried again, each time twice as long.
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

/// A value as it is.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
struct Literal {
    /// JSON of any kind.
    value: Value,
}

/// Where a value stands among the requirements and the outputs of steps: a JSON pointer such as "/plan/steps"
/// or a JSONPath such as "$.plan.steps", which begins with requirements or a step's id.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its shape is used")]
struct Reference(#[schemars(regex(pattern = r"^[/$]"))] String);

/// A URL, or the role of a participant.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its shape is used")]
struct Place(#[schemars(length(min = 1))] String);

/// A config that names this evaluator.
pub(super) fn named() -> Value {
    json!({
        "required": ["config"],
        "properties": {"config": {"required": ["evaluator"], "properties": {"evaluator": {"const": PIPELINE}}}},
    })
}
