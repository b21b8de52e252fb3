use std::collections::BTreeMap;

use regex::Regex;
use serde_json::{Value, json};

use super::*;
use green_agent_transcript::{
    Hop,
    fixture::{Script, debate, event, reply, result, rpc, stream},
};

fn assessment() -> Assessment {
    let artifacts = vec![
        json!({"artifactId": "r", "name": "Result", "parts": [{"data": {
            "score": 0.5, "whole": 1, "text": "well done", "list": [1, 2, 3], "nothing": null,
            "rounds": [{"points": 3}, {"points": 4}],
        }}]}),
        json!({"artifactId": "notes", "parts": [{"text": "said "}, {"text": "so"}]}),
    ];
    Assessment {
        state: "completed".to_owned(),
        statuses: vec![
            json!({"state": "TASK_STATE_WORKING"}),
            json!({"state": "TASK_STATE_COMPLETED"}),
        ],
        results: results(&artifacts),
        artifacts,
        metrics: BTreeMap::from([("tokens".to_owned(), 12.0)]),
    }
}

/// Returns the transcript of a purple agent that lists tools and calls `echo` once, over a stream.
fn entries() -> Vec<Entry> {
    let mut script = Script::default();
    let task = json!({"kind": "task", "id": "t", "status": {"state": "working"}});
    script.exchange("green -> purple", [rpc("message/send", json!({})), result(task)]);
    script
        .exchange("purple -> tools", [rpc("tools/list", json!({})), result(json!({"tools": []}))]);
    script.exchange("purple -> tools", [
        rpc("tools/call", json!({"name": "echo", "arguments": {"text": "hi"}})),
        stream(),
        event(json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}})),
        event(json!({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "hi"}]}})),
    ]);
    script.entries
}

fn parsed(path: &str) -> Option<ValuePath> {
    match path {
        "" => None,
        path if path.starts_with('$') => {
            let path = serde_json_path::JsonPath::parse(path).unwrap();
            Some(ValuePath::JsonPath(Box::new(path)))
        }
        path => Some(ValuePath::Pointer(path.to_owned())),
    }
}

fn outcome(rule: Rule, not: bool, entries: &[Entry]) -> Option<UnmetExpectation> {
    let expectation = Expectation { line: 7, not, rule };
    let assessment = assessment();
    let subject = Subject { assessment: &assessment, entries };
    check(&[expectation], &subject).pop()
}

fn of_value(on: Target, path: &str, check: Check, not: bool) -> Option<UnmetExpectation> {
    let path = parsed(path);
    outcome(Rule::Value { on, path, check }, not, &entries())
}

fn of_result(path: &str, check: Check, not: bool) -> Option<UnmetExpectation> {
    of_value(Target::Artifact("Result".to_owned()), path, check, not)
}

#[test]
fn lists_and_objects_are_compared_as_wholes() {
    for (check, holds) in [
        (Check::Eq(json!([1.0, 2, 3])), true),
        (Check::Eq(json!([1, 2])), false),
        (Check::Eq(json!([1, 2, 3, 4])), false),
        (Check::Eq(json!([1, 2, 4])), false),
        (Check::Eq(json!([4, 2, 3])), false),
        (Check::Eq(json!([])), false),
    ] {
        let failed = of_result("/list", check.clone(), false).is_some();
        assert_eq!(failed, !holds, "{check:?}");
    }
    for (check, holds) in [
        (Check::Eq(json!({"points": 3.0})), true),
        (Check::Eq(json!({"points": 4})), false),
        (Check::Eq(json!({"other": 3})), false),
        (Check::Eq(json!({"points": 3, "more": 1})), false),
        (Check::Eq(json!({})), false),
    ] {
        let failed = of_result("/rounds/0", check.clone(), false).is_some();
        assert_eq!(failed, !holds, "{check:?}");
    }
    let mut whole = assessment().results[0].clone();
    whole["score"] = json!(0.6);
    assert!(of_result("", Check::Eq(whole), false).is_some(), "one member differs");
    for (wanted, holds) in [
        (json!({"score": 0.5, "whole": 1.0}), true),
        (json!({"score": 0.5, "whole": 2}), false),
        (json!({"score": 0.5, "absent": 1}), false),
        (json!({"list": [1, 2, 3]}), true),
        (json!({"list": [1, 2]}), false),
    ] {
        let failed = of_result("", Check::Contains(wanted.clone()), false).is_some();
        assert_eq!(failed, !holds, "{wanted}");
    }
}

#[test]
fn a_value_of_the_wrong_type_fails_with_and_without_not() {
    for (path, check) in [
        ("/text", Check::Ge(0.0)),
        ("/text", Check::Lt(0.0)),
        ("/score", Check::Contains(json!(0.5))),
        ("/score", Check::Matches(Regex::new(".").unwrap())),
        ("/list", Check::Matches(Regex::new(".").unwrap())),
    ] {
        for not in [false, true] {
            let unmet = of_result(path, check.clone(), not);
            assert!(unmet.is_some(), "{path} {check:?} {not}");
        }
    }
}

#[test]
fn every_check_passes_and_fails() {
    let schema = |kind: &str| Check::Schema(json!({"type": kind}));
    let cases: Vec<(&str, Check, bool)> = vec![
        ("/score", Check::Eq(json!(0.5)), true),
        ("/score", Check::Eq(json!(0.6)), false),
        ("/whole", Check::Eq(json!(1.0)), true),
        ("/list", Check::Eq(json!([1.0, 2, 3])), true),
        ("/whole", Check::Ne(json!(1.0)), false),
        ("/whole", Check::Ne(json!("1")), true),
        ("/score", Check::Gt(0.5), false),
        ("/score", Check::Gt(0.4), true),
        ("/score", Check::Ge(0.5), true),
        ("/score", Check::Ge(0.6), false),
        ("/score", Check::Lt(0.5), false),
        ("/score", Check::Lt(0.6), true),
        ("/score", Check::Le(0.5), true),
        ("/score", Check::Le(0.4), false),
        ("/text", Check::Contains(json!("done")), true),
        ("/text", Check::Contains(json!("bad")), false),
        ("/list", Check::Contains(json!(2.0)), true),
        ("/list", Check::Contains(json!([1])), false),
        ("", Check::Contains(json!({"whole": 1.0})), true),
        ("", Check::Contains(json!({"whole": 2})), false),
        ("/text", Check::Matches(Regex::new("^well").unwrap()), true),
        ("/text", Check::Matches(Regex::new("^done").unwrap()), false),
        ("", schema("object"), true),
        ("", schema("array"), false),
        ("/nothing", Check::Exists(true), true),
        ("/nothing", Check::Exists(false), false),
        ("/list", Check::Count(3), true),
        ("/list", Check::Count(2), false),
        ("/text", Check::Count(9), true),
        ("/rounds/0", Check::Count(1), true),
        ("$.rounds[*].points", Check::Count(2), true),
        ("$.rounds[*].points", Check::Ge(3.0), true),
        ("$.rounds[*].points", Check::Ge(4.0), false),
    ];
    for (path, check, passes) in cases {
        let text = format!("{path} {check:?}");
        assert_eq!(of_result(path, check.clone(), false).is_none(), passes, "{text}");
        if !path.starts_with('$') || matches!(check, Check::Count(_)) {
            assert_eq!(of_result(path, check, true).is_none(), !passes, "not {text}");
        }
    }
}

#[test]
fn not_turns_the_check_of_each_value_round() {
    // One of the values is 4, so neither "all are 4" nor "none is 4" holds.
    assert!(of_result("$.rounds[*].points", Check::Eq(json!(4)), false).is_some());
    assert!(of_result("$.rounds[*].points", Check::Eq(json!(4)), true).is_some());
    assert!(of_result("$.rounds[*].points", Check::Eq(json!(5)), true).is_none());
}

#[test]
fn a_missing_value_passes_only_as_absent() {
    for path in ["/typo", "$.typo[*]"] {
        assert!(of_result(path, Check::Ne(json!(1)), false).is_some());
        assert!(of_result(path, Check::Eq(json!(1)), true).is_some());
        assert!(of_result(path, Check::Exists(true), false).is_some());
        assert!(of_result(path, Check::Exists(false), false).is_none());
        assert!(of_result(path, Check::Exists(true), true).is_none());
        assert!(of_result(path, Check::Count(0), false).is_none());
        assert!(of_result(path, Check::Count(1), false).is_some());
    }
}

#[test]
fn every_target_is_found() {
    let cases: Vec<(Target, &str, Value)> = vec![
        (Target::Artifact("Result".to_owned()), "/score", json!(0.5)),
        (Target::Artifact("notes".to_owned()), "", json!("said so")),
        (Target::Task("purple".to_owned()), "/status/state", json!("TASK_STATE_WORKING")),
        (Target::Status(1), "/state", json!("TASK_STATE_WORKING")),
        (Target::Status(-1), "/state", json!("TASK_STATE_COMPLETED")),
        (Target::Mcp("echo".to_owned()), "/0/arguments/text", json!("hi")),
        (Target::Mcp("echo".to_owned()), "/0/result/content/0/text", json!("hi")),
        (Target::Result, "/0/score", json!(0.5)),
        (Target::Metric("tokens".to_owned()), "", json!(12)),
    ];
    for (on, path, value) in cases {
        let unmet = of_value(on.clone(), path, Check::Eq(value), false);
        assert_eq!(unmet, None, "{on:?}");
        assert!(of_value(on, path, Check::Eq(json!("else")), false).is_some());
    }
}

#[test]
fn a_missing_target_says_what_there_is() {
    let cases = [
        (
            Target::Artifact("Results".to_owned()),
            "no artifact Results; the evaluation gave: Result, notes",
        ),
        (Target::Task("green".to_owned()), "no task was seen from green; tasks came from: purple"),
        (Target::Status(3), "no status 3; there were 2"),
        (Target::Status(0), "no status 0; there were 2"),
        (Target::Status(-3), "no status -3; there were 2"),
        (Target::Mcp("ecco".to_owned()), "no call of ecco; tools called: echo"),
        (Target::Metric("cost".to_owned()), "no metric cost; there are: tokens"),
    ];
    for (on, expected) in cases {
        let unmet = of_value(on, "", Check::Exists(true), false).unwrap();
        assert_eq!(unmet.actual, expected);
    }
    let (on, path, check) = (Target::Mcp("echo".to_owned()), None, Check::Exists(true));
    let unmet = outcome(Rule::Value { on, path, check }, false, &[]).unwrap();
    let expected = "no call of echo; nothing was asked over MCP where it is recorded, ";
    assert!(unmet.actual.starts_with(expected), "{}", unmet.actual);
}

#[test]
fn unmet_expectations_read_well() {
    let schema =
        json!({"type": "object", "required": ["winner"], "properties": {"score": {"minimum": 1}}});
    let unmet = [
        of_result("/score", Check::Ge(1.0), false),
        of_result("/grade", Check::Eq(json!("A")), false),
        of_result("$.rounds[*].points", Check::Gt(4.0), false),
        of_result("", Check::Schema(schema), false),
        of_result("", Check::Schema(json!({"type": "thing"})), false),
        of_result("/text", Check::Matches(Regex::new("done").unwrap()), true),
        of_result("/score", Check::Count(1), false),
        of_value(Target::Mcp("echo".to_owned()), "", Check::Count(2), false),
    ];
    let told: Vec<String> = unmet.into_iter().flatten().map(|unmet| unmet.to_string()).collect();
    insta::assert_snapshot!(told.join("\n"));
}

fn of_sequence(labels: &[&str], hop: Option<Hop>, not: bool) -> Option<UnmetExpectation> {
    let labels = labels.iter().map(|label| (*label).to_owned()).collect();
    outcome(Rule::Sequence { labels, hop }, not, &debate())
}

#[test]
fn sequences_pass_and_fail() {
    let green = || Some(Hop::new("runner", "green"));
    let pro = || Some(Hop::new("green", "pro_debater"));
    let nobody = || Some(Hop::new("green", "nobody"));
    let cases: Vec<(&[&str], Option<Hop>, bool)> = vec![
        (
            &[
                "request:message/stream",
                "task:submitted",
                "status:working",
                "artifact:Result",
                "task:completed",
            ],
            None,
            true,
        ),
        (&["request:message/stream", "request:message/send", "end"], None, true),
        (&["request:message/send"], green(), false),
        (&["request:message/send", "request:message/send"], pro(), true),
        (&["request:message/send", "request:message/send", "request:*"], pro(), false),
        (&["task:completed", "artifact:Result"], green(), false),
        (&["status:*", "status:c*"], green(), true),
        (&["request:*"], nobody(), false),
    ];
    for (labels, hop, passes) in cases {
        let unmet = of_sequence(labels, hop.clone(), false);
        assert_eq!(unmet.is_none(), passes, "{labels:?} on {hop:?}");
        assert_eq!(of_sequence(labels, hop, true).is_none(), !passes, "not {labels:?}");
    }
}

#[test]
fn one_happening_counts_once_and_one_entry_may_show_several() {
    let call_twice = Rule::Sequence { labels: vec!["mcp:tools/call*".to_owned(); 2], hop: None };
    assert!(outcome(call_twice.clone(), false, &entries()).is_some());
    let mut redirected = Script::default();
    let call = || rpc("tools/call", json!({"name": "echo"}));
    redirected.exchange("purple -> tools", [call(), reply(307, Value::Null)]);
    redirected.exchange("purple -> tools", [call(), result(json!({"content": []}))]);
    assert!(outcome(call_twice, false, &redirected.entries).is_some());
    let mut script = Script::default();
    let task = json!({"task": {"id": "t", "status": {"state": "TASK_STATE_COMPLETED"}, "artifacts": [{"artifactId": "a"}]}});
    script.exchange("green -> purple", [rpc("SendMessage", json!({})), result(task)]);
    let both = Rule::Sequence {
        labels: vec!["artifact:a".to_owned(), "task:completed".to_owned()],
        hop: None,
    };
    assert!(outcome(both, false, &script.entries).is_none());
}

#[test]
fn a_broken_sequence_says_how_far_it_came() {
    let labels = ["status:submitted", "mcp:tools/call"];
    let unmet = of_sequence(&labels, Some(Hop::new("runner", "green")), false).unwrap();
    assert_eq!(
        unmet.actual,
        "matched 1 of 2; after status:submitted at 21 nothing matched mcp:tools/call on runner -> green; \
         labels seen after it: status:working, artifact:Result, status:completed, end"
    );
    assert_eq!(unmet.at, [21]);
    let unmet = of_sequence(&["end"], Some(Hop::new("green", "nobody")), false).unwrap();
    assert_eq!(unmet.actual, "nothing was recorded on green -> nobody");
}

#[test]
fn many_values_of_the_wrong_type_say_so_once() {
    let points: Vec<Value> = (0..50).map(|n| json!({"points": n.to_string()})).collect();
    let assessment = Assessment { results: points, ..Assessment::default() };
    let rule =
        Rule::Value { on: Target::Result, path: parsed("$[*].points"), check: Check::Ge(1.0) };
    let subject = Subject { assessment: &assessment, entries: &[] };
    let unmet = check(&[Expectation { line: 7, not: false, rule }], &subject).pop().unwrap();
    let expected =
        "/0/points: \"0\"\n/1/points: \"1\"\n/2/points: \"2\"\nand 47 more\nwhich is not a number";
    assert_eq!(unmet.actual, expected);
}
