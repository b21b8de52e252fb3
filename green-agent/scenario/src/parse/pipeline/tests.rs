use serde_json::json;

use super::*;
use crate::{
    model::Green,
    pipeline::{AgentAddress, Input},
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
    let elsewhere = AgentAddress::Url("http://h:1/a2a".parse().unwrap());
    assert_eq!(pipeline.agents.listed, [AgentAddress::Role("a".to_owned()), elsewhere]);
    assert!(matches!(pipeline.agents.registry, Some(AgentAddress::Url(_))));
    assert_eq!((pipeline.parallel, pipeline.timeout), (2, Duration::from_secs(9)));
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
    assert_eq!((pipeline.parallel, pipeline.timeout), (4, Duration::from_secs(600)));
    assert_eq!(pipeline.steps[0].retries, 0);
}

#[test]
fn mistakes_are_reported_at_their_key() {
    const STEP: &str = "[[config.step]]\nid = 'plan'\nskill = 'x'\n";
    for (config, expected) in [
        (String::new(), "a.toml:5:1: config.step: missing; expected at least one"),
        ("step = []\n".to_owned(), "a.toml:7:8: config.step: expected at least one"),
        ("[[config.step]]\nskill = 'x'\n".to_owned(), "a.toml:7:1: config.step[0].id: missing"),
        ("[[config.step]]\nid = 'plan'\n".to_owned(), "a.toml:7:1: config.step[0].skill: missing"),
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
        (format!("{STEP}{STEP}"), "a.toml:10:1: config.step[1]: expected another id"),
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
            "a.toml:7:11: config.agents[0]: no agent has the role \"b\"",
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
