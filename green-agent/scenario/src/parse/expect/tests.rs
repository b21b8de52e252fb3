use super::*;
use crate::tests::{errors_of, scenario_of};

const HEAD: &str = "[green_agent]\nendpoint = 'http://h'\n\
                    [[participants]]\nrole = 'a'\nendpoint = 'http://h'\n\
                    [harness]\nversion = 1\n";

fn rule_of(expect: &str) -> Rule {
    let text = format!("{HEAD}[[harness.expect]]\n{expect}\n");
    let mut expectations = scenario_of(&text).harness.expect;
    assert_eq!(expectations[0].line, 8);
    expectations.remove(0).rule
}

#[test]
fn targets_are_distinguished_by_their_first_word() {
    for (on, expected) in [
        ("artifact:Result", Target::Artifact("Result".to_owned())),
        ("task:a", Target::Task("a".to_owned())),
        ("task:green", Target::Task("green".to_owned())),
        ("status:-1", Target::Status(-1)),
        ("mcp:search", Target::Mcp("search".to_owned())),
        ("result", Target::Result),
        ("score", Target::Metric("score".to_owned())),
        ("f1:macro", Target::Metric("f1:macro".to_owned())),
    ] {
        match rule_of(&format!("on = '{on}'\nexists = true")) {
            Rule::Value { on, path: None, .. } => assert_eq!(on, expected),
            rule => panic!("{rule:?} is no check of a whole value"),
        }
    }
}

#[test]
fn every_check_is_read() {
    for (name, value) in [
        ("eq", "'x'"),
        ("ne", "[1]"),
        ("gt", "1"),
        ("ge", "1.0"),
        ("lt", "-1"),
        ("le", "0"),
        ("contains", "{ a = 1 }"),
        ("matches", "'^a+$'"),
        ("schema", "{ type = 'object' }"),
        ("exists", "false"),
        ("count", "0"),
    ] {
        let Rule::Value { path, check, .. } =
            rule_of(&format!("on = 'result'\npath = '$[*].x'\n{name} = {value}"))
        else {
            panic!("{name} checks a value");
        };
        assert!(matches!(path, Some(ValuePath::JsonPath(_))));
        let shown = format!("{check:?}").to_lowercase();
        assert!(shown.starts_with(name), "{shown}");
    }
}

#[test]
fn a_sequence_may_be_bound_to_a_hop() {
    match rule_of("not = true\nsequence = ['status:*', 'task:completed']\nhop = 'green -> a'") {
        Rule::Sequence { labels, hop } => {
            assert_eq!(labels, ["status:*", "task:completed"]);
            assert_eq!(hop, Some(Hop::new("green", "a")));
        }
        rule => panic!("{rule:?} is no sequence"),
    }
}

#[test]
fn mistakes_are_reported_at_their_key() {
    for (expect, expected) in [
        ("on = 'x'", "8:1: harness.expect[0].eq: missing; expected exactly one of eq, ne"),
        ("eq = 1", "8:1: harness.expect[0].on: missing"),
        ("on = 'x'\neq = 1\nne = 2", "11:6: harness.expect[0].ne: expected it without eq"),
        ("on = 'x'\neq = 1\nequals = 1", "11:1: harness.expect[0].equals: unknown key"),
        ("on = 'x'\nge = '1'", "10:6: harness.expect[0].ge: expected a number, found \"1\""),
        ("on = 'x'\ncount = -1", "10:9: harness.expect[0].count: expected a whole number"),
        (
            "on = 'task:b'\nexists = true",
            "9:6: harness.expect[0].on: no agent has the role \"b\"; expected one of: a, green",
        ),
        ("on = 'status:0'\nexists = true", "9:6: harness.expect[0].on: expected status:N"),
        ("on = 'artifact:'\nexists = true", "9:6: harness.expect[0].on: expected a name"),
        ("on = 'artifact'\nexists = true", "9:6: harness.expect[0].on: expected a name"),
        (
            "on = 'artefact:Result'\nexists = true",
            "9:6: harness.expect[0].on: expected artifact:Result, found \"artefact:Result\"",
        ),
        ("on = 'x'\npath = 'a'\neq = 1", "10:8: harness.expect[0].path: expected a JSON pointer"),
        (
            "on = 'x'\npath = '$['\neq = 1",
            "10:8: harness.expect[0].path: expected a JSONPath, found \"$[\": ",
        ),
        (
            "on = 'x'\nmatches = '(a'",
            "10:11: harness.expect[0].matches: expected a regular expression, found \"(a\": unclosed group",
        ),
        (
            "on = 'x'\nschema = { type = 'thing' }",
            "10:10: harness.expect[0].schema: expected a JSON Schema, found a table: ",
        ),
        ("sequence = []", "9:12: harness.expect[0].sequence: expected at least one label"),
        (
            "sequence = ['status:workin']",
            "9:13: harness.expect[0].sequence[0]: no such label occurs; did you mean status:working? expected one of: submitted, ",
        ),
        (
            "sequence = ['tasks:completed']",
            "9:13: harness.expect[0].sequence[0]: no such label occurs; did you mean task:completed? expected",
        ),
        (
            "sequence = ['http:many']",
            "9:13: harness.expect[0].sequence[0]: expected a number after the colon",
        ),
        (
            "sequence = ['messages']",
            "9:13: harness.expect[0].sequence[0]: no such label occurs; did you mean message? expected",
        ),
        (
            "sequence = ['end']\non = 'x'",
            "10:6: harness.expect[0].on: expected it without sequence",
        ),
        ("sequence = ['end']\nhop = 'a'", "10:7: harness.expect[0].hop: expected a hop"),
        (
            "sequence = ['end']\nhop = 'a -> b'",
            "10:7: harness.expect[0].hop: no agent has the role \"b\"; expected one of: a, green, runner, environment",
        ),
        (
            "on = 'x'\neq = 1\nhop = 'a -> green'",
            "11:7: harness.expect[0].hop: expected it only beside sequence",
        ),
    ] {
        let errors = errors_of(&format!("{HEAD}[[harness.expect]]\n{expect}\n"));
        assert!(errors.starts_with(&format!("a.toml:{expected}")), "{errors}");
    }
}
