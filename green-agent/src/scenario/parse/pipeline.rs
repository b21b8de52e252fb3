//! `evaluator = "pipeline"`: where agents are looked for, the steps, and what their outputs become.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::{cast::Cast, credential, expect, values};
use crate::scenario::{
    model::Evaluator,
    pipeline::{
        Agents, Input, Pipeline, Place, REQUIREMENTS, RESERVED_RESULTS, Reference, Step, first_name,
    },
    reader::{Node, Table},
};

/// How many steps run at a time where the file does not say it.
pub(in crate::scenario) const PARALLEL: usize = 4;

/// How long a step that failed is left alone where the file does not say it.
const BACKOFF: Duration = Duration::from_millis(500);

/// How long a pipeline may take where the file does not say it.
const TIMEOUT: Duration = Duration::from_secs(10 * 60);

const REFERENCE: &str = "a JSON pointer such as \"/plan/steps\" or a JSONPath such as \"$.plan.steps\" that begins \
                         with requirements or a step's id";

/// Reads `[config]` of `evaluator = "pipeline"`.
pub(super) fn pipeline(config: &mut Table<'_>, cast: &Cast) -> Option<Evaluator> {
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
        agents: agents(config, cast),
        credentials: credential::credentials(config, cast),
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
    check_participants(config, &pipeline, cast);
    let whole = pipeline.steps.len() == nodes.len() && !nodes.is_empty();
    if whole {
        check_order(&nodes, &pipeline);
    }
    config.reject_unknown();
    whole.then_some(Evaluator::Pipeline(pipeline))
}

/// The steps' ids, also of those whose other keys are wrong.
fn ids(steps: &[Node<'_>]) -> BTreeSet<String> {
    let tables = steps.iter().filter(|node| node.is_table());
    let id = |node: &Node<'_>| Some(node.table()?.get("id")?.as_text()?.to_owned());
    tables.filter_map(id).collect()
}

fn step(table: &mut Table<'_>, ids: &BTreeSet<String>) -> Option<Step> {
    let id = table
        .need("id", "what the step's output is called")
        .and_then(|node| node.read(&id_expected(), |text| is_id(text).then(|| text.to_owned())));
    let skill = table.need("skill", "the id of the skill that does it");
    let skill = skill.and_then(|node| {
        node.read("the id of a skill", |text| {
            (!text.trim().is_empty()).then(|| text.to_owned())
        })
    });
    let step = Step {
        line: table.line(),
        id: id.clone().unwrap_or_default(),
        skill: skill.clone().unwrap_or_default(),
        input: table
            .table("input")
            .map(|table| input(&table, ids))
            .unwrap_or_default(),
        after: after(table, ids),
        retries: table
            .get("retries")
            .and_then(|node| node.integer(0))
            .unwrap_or(0),
        backoff: table
            .get("backoff")
            .and_then(|node| values::duration(&node))
            .unwrap_or(BACKOFF),
        timeout: table.get("timeout").and_then(|node| values::limit(&node)),
    };
    table.reject_unknown();
    id.and(skill).map(|_| step)
}

fn id_expected() -> String {
    format!("letters, digits, dashes and underscores, and not {REQUIREMENTS:?}")
}

/// Ids are written in pointers and paths, so they hold nothing that would have to be escaped there.
fn is_id(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !text.is_empty() && text.chars().all(plain) && text != REQUIREMENTS
}

fn input(table: &Table<'_>, ids: &BTreeSet<String>) -> BTreeMap<String, Input> {
    let parameters = table.entries();
    parameters
        .filter_map(|(name, node)| Some((name.to_owned(), parameter(&node, ids)?)))
        .collect()
}

/// A text is a reference; what is to be taken as it is stands in a table under `value`.
fn parameter(node: &Node<'_>, ids: &BTreeSet<String>) -> Option<Input> {
    if node.as_text().is_some() {
        return reference(node, ids).map(Input::From);
    }
    let mut table = match node.is_table() {
        true => node.table()?,
        false => return node.expected(format!("{REFERENCE}, or {{ value = ... }}")),
    };
    let value = table.need("value", "the parameter's value")?.json();
    table.reject_unknown();
    value.map(Input::Value)
}

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

fn after(table: &mut Table<'_>, ids: &BTreeSet<String>) -> BTreeSet<String> {
    let known = ids
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    let expected = format!("the id of a step: {known}");
    let named = table.get("after").and_then(|list| {
        list.list_of(|node| {
            node.read(&expected, |text| {
                ids.contains(text).then(|| text.to_owned())
            })
        })
    });
    named.unwrap_or_default().into_iter().collect()
}

fn result(table: &Table<'_>, ids: &BTreeSet<String>) -> BTreeMap<String, Reference> {
    let members = table.entries().filter_map(|(name, node)| {
        if RESERVED_RESULTS.contains(&name) {
            return node.expected(format!(
                "another name, for the evaluator adds {} itself",
                RESERVED_RESULTS.join(" and ")
            ));
        }
        Some((name.to_owned(), reference(&node, ids)?))
    });
    members.collect()
}

fn agents(config: &mut Table<'_>, cast: &Cast) -> Agents {
    let listed = config
        .get("agents")
        .and_then(|list| list.list_of(|node| place(node, cast)));
    Agents {
        listed: listed.unwrap_or_default(),
        registry: config.get("registry").and_then(|node| place(&node, cast)),
    }
}

/// What looks like a URL is one, anything else a role.
pub(super) fn place(node: &Node<'_>, cast: &Cast) -> Option<Place> {
    let text = node.text()?;
    match text.contains("://") {
        true => values::endpoint(node).map(Place::Url),
        false => cast.check(text, &[], node).map(Place::Role),
    }
}

/// Somebody must be there who can be asked, and nobody who only calls.
fn check_participants(config: &mut Table<'_>, pipeline: &Pipeline, cast: &Cast) {
    let Some(node) = config.get("evaluator") else {
        return;
    };
    if let Some(client) = cast.agents.iter().find(|agent| agent.start.is_client()) {
        let role = &client.role;
        node.expected::<()>(format!(
            "another one for {role:?}, which listens nowhere and cannot be asked"
        ));
    }
    if pipeline.agents.is_empty() && cast.declared == 0 {
        config.missing::<()>(
            "agents",
            "agents or registry where there are no participants to look among",
        );
    }
}

/// Every id once, and no step that would have to wait for itself.
fn check_order(nodes: &[Node<'_>], pipeline: &Pipeline) {
    let mut seen = BTreeSet::new();
    for (node, step) in nodes.iter().zip(&pipeline.steps) {
        if !seen.insert(&step.id) {
            node.expected::<()>(format!("an id of its own, for {:?} is taken", step.id));
        } else if waits_for(pipeline, step).contains(step.id.as_str()) {
            node.expected::<()>(format!(
                "a step that can begin, for {:?} waits for itself",
                step.id
            ));
        }
    }
}

/// All steps that must have ended before a step, however far away.
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::scenario::{
        model::Green,
        tests::{errors_of, scenario_of},
    };

    const HEAD: &str = "[green_agent]\n[[participants]]\nrole = 'a'\nendpoint = 'http://h'\n\
                        [config]\nevaluator = 'pipeline'\n";

    fn pipeline_of(config: &str) -> Pipeline {
        match scenario_of(&format!("{HEAD}{config}")).green {
            Green::Builtin(Evaluator::Pipeline(pipeline)) => pipeline,
            other => panic!("the evaluator is a pipeline, not {other:?}"),
        }
    }

    #[test]
    fn every_key_is_read() {
        let pipeline = pipeline_of(
            "requirements = 'r'\nagents = ['a', 'http://h:1/a2a']\nregistry = 'http://h:2'\nparallel = 2\n\
             timeout = '9s'\n[[config.step]]\nid = 'plan'\nskill = 'create_plan'\n\
             input = { requirements = '/requirements', style = { value = ['short'] } }\n\
             [[config.step]]\nid = 'code'\nskill = 'generate_code'\ninput = { plan = '$.plan.plan' }\n\
             after = ['plan']\nretries = 2\nbackoff = '0s'\ntimeout = '3s'\n\
             [config.result]\ncode = '/code/code'\n",
        );
        assert_eq!(pipeline.requirements, Some(json!("r")));
        let elsewhere = Place::Url("http://h:1/a2a".parse().unwrap());
        assert_eq!(
            pipeline.agents.listed,
            [Place::Role("a".to_owned()), elsewhere]
        );
        assert!(matches!(pipeline.agents.registry, Some(Place::Url(_))));
        assert_eq!(
            (pipeline.parallel, pipeline.timeout),
            (2, Duration::from_secs(9))
        );
        let [plan, code] = &pipeline.steps[..] else {
            panic!("there are two steps");
        };
        assert!(matches!(&plan.input["style"], Input::Value(value) if *value == json!(["short"])));
        assert!(plan.needs().is_empty());
        assert_eq!(code.needs().into_iter().collect::<Vec<_>>(), ["plan"]);
        assert_eq!((code.retries, code.backoff), (2, Duration::ZERO));
        assert_eq!(code.timeout, Some(Duration::from_secs(3)));
        assert_eq!(pipeline.result["code"].to_string(), "/code/code");
    }

    #[test]
    fn a_step_is_a_skill_and_little_else() {
        let pipeline = pipeline_of("[[config.step]]\nid = 'plan'\nskill = 'create_plan'\n");
        assert_eq!(pipeline.requirements, None);
        assert!(pipeline.agents.is_empty() && pipeline.result.is_empty());
        assert_eq!((pipeline.parallel, pipeline.timeout), (PARALLEL, TIMEOUT));
        assert_eq!(pipeline.steps[0].retries, 0);
    }

    #[test]
    fn what_is_wrong_is_said_at_its_key() {
        const STEP: &str = "[[config.step]]\nid = 'plan'\nskill = 'x'\n";
        for (config, expected) in [
            (
                String::new(),
                "a.toml:5:1: config.step: missing; expected at least one",
            ),
            (
                "step = []\n".to_owned(),
                "a.toml:7:8: config.step: expected at least one",
            ),
            (
                "[[config.step]]\nskill = 'x'\n".to_owned(),
                "a.toml:7:1: config.step[0].id: missing",
            ),
            (
                "[[config.step]]\nid = 'plan'\n".to_owned(),
                "a.toml:7:1: config.step[0].skill: missing",
            ),
            (
                "[[config.step]]\nid = 'requirements'\nskill = 'x'\n".to_owned(),
                "a.toml:8:6: config.step[0].id: expected letters, digits,",
            ),
            (
                format!("{STEP}input = {{ a = '/code' }}\n"),
                "a.toml:10:15: config.step[0].input.a: expected a JSON pointer such as",
            ),
            (
                format!("{STEP}input = {{ a = 1 }}\n"),
                "a.toml:10:15: config.step[0].input.a: expected a JSON pointer such as",
            ),
            (
                format!("{STEP}input = {{ a = '/plan/x' }}\n"),
                "a.toml:7:1: config.step[0]: expected a step that can begin",
            ),
            (
                format!("{STEP}after = ['code']\n"),
                "a.toml:10:10: config.step[0].after[0]: expected the id of a step: plan",
            ),
            (
                format!("{STEP}{STEP}"),
                "a.toml:10:1: config.step[1]: expected an id of its own",
            ),
            (
                format!("{STEP}retry = 1\n"),
                "a.toml:10:1: config.step[0].retry: unknown key; did you mean retries?",
            ),
            (
                format!("{STEP}[config.result]\nscore = '/plan'\n"),
                "a.toml:11:9: config.result.score: expected another name",
            ),
            (
                format!("agents = ['b']\n{STEP}"),
                "a.toml:7:11: config.agents[0]: nobody has the role \"b\"",
            ),
        ] {
            let errors = errors_of(&format!("{HEAD}{config}"));
            assert!(errors.starts_with(expected), "{errors}");
            assert_eq!(errors.lines().count(), 1, "{errors}");
        }
    }

    #[test]
    fn somebody_must_be_there_to_be_asked() {
        let config = "[config]\nevaluator = 'pipeline'\n[[config.step]]\nid = 'a'\nskill = 'x'\n";
        let errors = errors_of(&format!("[green_agent]\n{config}"));
        assert!(errors.contains("config.agents: missing"), "{errors}");
    }
}
