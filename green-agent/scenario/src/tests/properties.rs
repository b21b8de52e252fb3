//! Property tests: reading any file ends with a scenario or with messages, and the schema agrees.

use std::{cell::Cell, path::Path};

use proptest::{
    collection::vec,
    prelude::*,
    sample::{Index, select},
    test_runner::RngSeed,
};

use crate::{parse, schema};

/// The keys of a table, each with meaningful values.
type Keys = [(&'static str, &'static [&'static str])];

const GREEN: &Keys = &[
    ("endpoint", &["'http://127.0.0.1:9009'"]),
    ("cmd", &["'python green.py'", "''"]),
    ("agentbeats_id", &["''", "'abc'"]),
    ("image", &["'ghcr.io/x/y'"]),
    ("env", &["{ A = '${B}' }"]),
    ("colour", &["1979-05-27", "[]"]),
];

const PARTICIPANT: &Keys = &[
    ("role", &["'a'", "'b c'", "'runner'", "' '"]),
    ("endpoint", &["'http://h'", "'https://h/x?y'"]),
    ("cmd", &["'x \"y z\"'"]),
    ("requires", &["['npm:x@1', 'command:uv']", "['uv']"]),
];

const TURN: &Keys = &[
    ("to", &["'a'"]),
    ("text", &["'hi'", "''"]),
    ("parts", &["[{ data = [1] }, { raw = 'aGk=' }]", "[]", "[{ url = 'x', text = 'y' }]"]),
    ("version", &["'0.3'", "'1.0'"]),
    ("stream", &["true"]),
    ("cancel", &["true", "false"]),
    ("after", &["'0s'", "'1m30s'", "'1s1m'"]),
    ("state", &["'input-required'", "'message'"]),
];

const HARNESS: &Keys = &[
    ("trials", &["3", "0"]),
    ("seed", &["0x7"]),
    ("ports", &["'auto'", "'fixed'"]),
    ("timeout", &["{ ready = '1h' }", "{ idle = '0s' }"]),
    ("snapshot", &["true", "{ redact = ['/a/*/~0', ''] }", "{ redact = ['/~'] }"]),
];

const EXPECT: &Keys = &[
    ("not", &["true"]),
    ("on", &["'artifact:Result'", "'task:green'", "'score'"]),
    ("path", &["'/a'", "'$.a[*]'", "''", "'a'"]),
    ("ge", &["1", "0.5"]),
    ("count", &["0", "-1"]),
    ("sequence", &["['status:*', 'task:completed']", "[]"]),
    ("hop", &["'runner -> green'", "'green'"]),
];

/// Values that are wrong for almost every key.
const ODD: [&str; 9] = [
    "nan",
    "-1",
    "''",
    "'\\u0000'",
    "[[]]",
    "{ a = { b = inf } }",
    "07:32:00",
    "9223372036854775807",
    "'é -> ñ'",
];

/// Returns lines for some of the keys.
fn lines(keys: &'static Keys) -> impl Strategy<Value = String> {
    let line = |(key, values): &(&str, &'static [&str])| {
        let key = key.to_string();
        prop::option::weighted(0.6, select(*values)).prop_map(move |value| {
            value.map_or(String::new(), |value| format!("{key} = {value}\n"))
        })
    };
    keys.iter().map(line).collect::<Vec<_>>().prop_map(|lines| lines.concat())
}

fn tables(header: &'static str, keys: &'static Keys) -> impl Strategy<Value = String> {
    vec(lines(keys), 0..3).prop_map(move |tables| {
        let tables = tables.iter().map(|lines| format!("[[{header}]]\n{lines}"));
        tables.collect()
    })
}

/// Returns a file that resembles a scenario.
fn file() -> impl Strategy<Value = String> {
    let config = select(&["", "[config]\n", "[config]\nevaluator = 'conversation'\n"][..]);
    let harness = (lines(HARNESS), tables("harness.expect", EXPECT))
        .prop_map(|(lines, expect)| format!("[harness]\nversion = 1\n{lines}{expect}"));
    let parts =
        (lines(GREEN), tables("participants", PARTICIPANT), config, tables("config.turn", TURN));
    (parts, prop::option::of(harness)).prop_map(
        |((green, participants, config, turns), harness)| {
            let harness = harness.unwrap_or_default();
            format!("[green_agent]\n{green}{participants}{config}{turns}{harness}")
        },
    )
}

/// Returns the file with another value in one of its lines.
fn with_odd_value(file: &str, line: &Index, value: &str) -> String {
    let mut lines: Vec<String> = file.lines().map(str::to_owned).collect();
    let line = line.get_mut(&mut lines);
    if let Some((key, _)) = line.split_once(" = ") {
        *line = format!("{key} = {value}");
    }
    lines.join("\n")
}

fn is_read(text: &str) -> bool {
    parse(Path::new("a.toml"), text).is_ok()
}

fn is_valid(validator: &jsonschema::Validator, text: &str) -> bool {
    let table: toml::Table = text.parse().unwrap();
    validator.is_valid(&serde_json::to_value(table).unwrap())
}

#[test]
fn parsed_scenarios_are_valid_under_the_schema() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let read = Cell::new(0);
    proptest!(config(2000), |(text in file())| {
        if is_read(&text) {
            read.set(read.get() + 1);
            prop_assert!(is_valid(&validator, &text), "{text}");
        }
    });
    let read = read.get();
    assert!(read > 50, "only {read} files could be read, which proves little");
}

proptest! {
    #![proptest_config(config(500))]

    #[test]
    fn odd_values_are_reported(text in file(), line in any::<Index>(), value in select(&ODD[..])) {
        is_read(&with_odd_value(&text, &line, value));
    }

    #[test]
    fn any_text_is_read_or_reported(text in any::<String>()) {
        is_read(&text);
    }

    #[test]
    fn any_text_in_the_middle_is_read_or_reported(text in file(), at in any::<Index>(), middle in "[\\[\\]{}=.,'\"#\n a-z0-9é]{0,12}") {
        let at = at.index(text.len());
        let (before, after) = text.split_at(text.floor_char_boundary(at));
        is_read(&format!("{before}{middle}{after}"));
    }
}

/// Returns a configuration with the same cases on every run.
fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(7),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

#[test]
fn deep_nesting_is_reported() {
    for deep in [
        format!("x = {}", "[".repeat(10_000)),
        format!("x{} = 1", ".x".repeat(10_000)),
        format!("[x{}]", ".x".repeat(10_000)),
        format!("x = {}1", "{ x = ".repeat(10_000)),
    ] {
        is_read(&format!("[green_agent]\nendpoint = 'http://h'\n[config]\n{deep}\n"));
    }
}
