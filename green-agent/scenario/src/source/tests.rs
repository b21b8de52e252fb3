//! Tests how rows and cells fill a scenario.

use std::fs;

use super::*;
use crate::{
    expectation::Check,
    model::{Evaluator, Green, Start},
};

const FILE: &str = "\
[green_agent]
[[participants]]
role = 'agent'
endpoint = 'http://127.0.0.1:9009'
cmd = 'python agent.py --ask {row.question} --model {matrix.model}'
env = { QUESTION = 'q: {row.question}', PRICE = '$$5 {row.price}', TAGS = '{row.tags}' }
[config]
evaluator = 'conversation'
[[config.turn]]
to = 'agent'
text = '{row.question} (${row.question}, {agent}, {row})'
[harness]
version = 1
dataset = 'tasks.jsonl'
matrix = { model = ['a', 'b'], heat = [0, 0.5] }
[[harness.expect]]
on = 'artifact:answer'
path = '/n'
eq = '{row.answer.n}'
";

const ROW: &str = r#"{"id": "x", "question": "it's \"5\" {agent}; rm -rf ${HOME}", "price": "$HOME", "tags": ["a", 1], "answer": {"n": 7}}"#;

/// Returns the source of a scenario with these rows.
fn source(file: &str, rows: &str) -> Result<ScenarioSource, String> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("tasks.jsonl"), rows).unwrap();
    let path = folder.path().join("a.toml");
    let shown = format!("{}/", folder.path().display());
    ScenarioSource::new(&path, file.to_owned())
        .and_then(|source| source.check().map(|()| source))
        .map_err(|errors| errors.to_string().replace(&shown, ""))
}

#[test]
fn a_row_fills_texts_and_becomes_nothing_else() {
    let source = source(FILE, ROW).unwrap();
    let scenario = source.first().unwrap();
    let agent = &scenario.participants[0];
    let Start::Program { cmd, .. } = &agent.start else {
        panic!("{agent:?}");
    };
    let question = "it's \"5\" {agent}; rm -rf ${HOME}";
    assert_eq!(cmd[2..], ["--ask", question, "--model", "a"]);
    assert_eq!(agent.env["QUESTION"], "q: it's \"5\" {agent}; rm -rf $${HOME}");
    assert_eq!(agent.env["PRICE"], "$$5 $$HOME");
    assert_eq!(agent.env["TAGS"], "[\"a\",1]");
    let Green::Builtin(Evaluator::Conversation(conversation)) = &scenario.green else {
        panic!("{:?}", scenario.green);
    };
    let text = conversation.turns[0].parts[0]["text"].as_str().unwrap();
    assert_eq!(text, format!("{question} (${{row.question}}, {{agent}}, {{row}})"));
    let expected = format!("{:?}", scenario.harness.expect[0]);
    assert!(expected.contains("Number(7)"), "{expected}");
}

#[test]
fn a_number_is_text_where_a_text_is_expected() {
    for (answer, expected) in
        [("72", "72"), ("-0.5", "-0.5"), ("1e300", "1e+300"), ("true", "true")]
    {
        let file = FILE.replace("to = 'agent'", "to = 'agent'\ncontains = '{row.answer.n}'");
        let row = ROW.replace("\"n\": 7", &format!("\"n\": {answer}"));
        let scenario = source(&file, &row).unwrap().first().unwrap();
        let Green::Builtin(Evaluator::Conversation(conversation)) = &scenario.green else {
            panic!("{:?}", scenario.green);
        };
        let sought = format!("{:?}", conversation.turns[0].expect[0].check);
        assert_eq!(sought, format!("Contains(String({expected:?}))"));
        let kept = format!("{:?}", scenario.harness.expect[0]);
        assert!(!kept.contains("String"), "{kept}");
    }
    let written = FILE.replace("to = 'agent'", "to = 'agent'\ncontains = 72");
    let error = source(&written, ROW).unwrap_err();
    assert!(error.ends_with("contains: expected text, found 72"), "{error}");
}

#[test]
fn a_value_in_a_regular_expression_is_literal_unless_it_is_the_whole() {
    for (pattern, expected) in
        [("^{row.price}$", r"^\$HOME$"), ("{row.price}", "$HOME"), ("^{row.answer.n}$", "^7$")]
    {
        let file = FILE.replace("eq = '{row.answer.n}'", &format!("matches = '{pattern}'"));
        let scenario = source(&file, ROW).unwrap().first().unwrap();
        let rule = format!("{:?}", scenario.harness.expect[0].rule);
        assert!(rule.contains(&format!("Regex({expected:?})")), "{rule}");

        let file = FILE.replace("to = 'agent'", &format!("to = 'agent'\nmatches = '{pattern}'"));
        let scenario = source(&file, ROW).unwrap().first().unwrap();
        let Green::Builtin(Evaluator::Conversation(conversation)) = &scenario.green else {
            panic!("{:?}", scenario.green);
        };
        let read = format!("{:?}", conversation.turns[0].expect[0].check);
        assert_eq!(read, format!("Matches(Regex({expected:?}))"));
    }
}

#[test]
fn an_empty_text_that_every_answer_contains_is_reported_with_its_row() {
    let file = FILE.replace("to = 'agent'", "to = 'agent'\ncontains = '{row.expected}'");
    let with = |text: &str| ROW.replacen('{', &format!("{{\"expected\": {text}, "), 1);
    let error = source(&file, &with("\"\"")).unwrap_err();
    let expected = "{row.expected}: expected a text that is not empty, since every answer contains that, found one in tasks.jsonl:1";
    assert!(error.ends_with(expected), "{error}");
    for text in ["\" \"", "0", "false"] {
        assert!(source(&file, &with(text)).is_ok(), "{text}");
    }
    let several = file.replace("contains = ", "contains_any = ");
    for empty in ["\"\"", "[]", "[\"a\", \"\"]"] {
        assert!(source(&several, &with(empty)).unwrap_err().ends_with(expected), "{empty}");
    }
    for texts in ["\"a\"", "7", "[\"a\", \"b\"]"] {
        assert!(source(&several, &with(texts)).is_ok(), "{texts}");
    }
    // A list may mean all of its texts or any, so that the key says which.
    let error = source(&file, &with("[\"a\", \"b\"]")).unwrap_err();
    assert!(error.contains("contains: expected text, found a list of 2"), "{error}");
}

#[test]
fn a_value_that_cannot_be_used_is_reported_with_its_row_unless_the_mistake_is_in_every_row() {
    let file = FILE.replace("to = 'agent'", "to = 'agent'\nmatches = '{row.pattern}'");
    let rows = |patterns: &[&str]| {
        let lines = patterns.iter().enumerate().map(|(index, pattern)| {
            let row = ROW.replace("\"x\"", &index.to_string());
            row.replacen('{', &format!("{{\"pattern\": {pattern}, "), 1)
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    let error = source(&file, &rows(&["\"a\"", "[\"a\", \"b\"]", "\"a\""])).unwrap_err();
    let expected = "matches: expected text, found a list of 2, with tasks.jsonl:2";
    assert!(error.ends_with(expected), "{error}");
    let error = source(&file, &rows(&["\"a\"", "\"b\"", "\"(\""])).unwrap_err();
    assert!(error.ends_with("unclosed group, with tasks.jsonl:3"), "{error}");
    let written = file.replace("to = 'agent'", "to = 'agent'\nstate = 'done'");
    let error = source(&written, &rows(&["\"a\"", "\"b\""])).unwrap_err();
    assert!(error.contains("state: ") && !error.contains("tasks.jsonl"), "{error}");
}

#[test]
fn of_many_wrong_rows_some_are_listed_and_the_others_are_counted() {
    let file = FILE.replace("to = 'agent'", "to = 'agent'\nmatches = '{row.pattern}'");
    let rows = |count: u32| {
        let row = |id: u32| {
            let row = ROW.replace("\"x\"", &id.to_string());
            row.replacen('{', &format!("{{\"pattern\": \"({id}\", "), 1)
        };
        (1..=count).map(row).collect::<Vec<_>>().join("\n")
    };
    let error = source(&file, &rows(200)).unwrap_err();
    let lines: Vec<&str> = error.lines().filter(|line| line.contains("a.toml:")).collect();
    assert_eq!(lines.len(), 11, "{error}");
    let expected = ": 190 more rows or cells have mistakes, too; correct these first";
    assert!(error.ends_with(expected), "{error}");
    assert!(!source(&file, &rows(10)).unwrap_err().contains("more rows"));
}

#[test]
fn a_field_that_many_rows_lack_is_reported_once() {
    let rows = |name: &str| {
        let row = |id: u32| ROW.replace("\"x\"", &id.to_string()).replace("question", name);
        (1..=5).map(row).collect::<Vec<_>>().join("\n")
    };
    let error = source(FILE, &rows("prompt")).unwrap_err();
    let lines: Vec<&str> = error.lines().collect();
    let [cmd, env, text, more] = lines[..] else { panic!("{error}") };
    for line in [cmd, env, text] {
        assert!(line.contains("{row.question}: expected a field of tasks.jsonl:1: "), "{error}");
    }
    assert!(
        more.ends_with(": 4 more rows or cells have mistakes, too; correct these first"),
        "{error}"
    );
}

#[test]
fn a_null_is_a_value_of_json_and_leaves_a_key_of_the_file_out() {
    let parts = "parts = [{ data = '{row.tags}', filename = 'a' }, '{row.part}']\n\
                 expect = [{ schema = '{row.schema}' }, { eq = '{row.arguments}' }]\n# ";
    let file = FILE.replace("text = '{row.question} (", &format!("{parts}'"));
    assert_ne!(file, FILE);
    let values = r#""tags": [null, {"n": null}], "part": {"text": "b", "filename": null, "metadata": {"n": null}},
        "schema": {"enum": ["a", null]}, "arguments": {"city": null}, "id""#;
    let row =
        ROW.replace("\"tags\": [\"a\", 1], ", "").replace("\"id\"", &values.replace('\n', ""));
    let scenario = source(&file, &row).unwrap().first().unwrap();
    let Green::Builtin(Evaluator::Conversation(conversation)) = &scenario.green else {
        panic!("{:?}", scenario.green);
    };
    let turn = &conversation.turns[0];
    let data = json!({"data": [null, {"n": null}], "filename": "a"});
    assert_eq!(turn.parts, [data, json!({"text": "b", "metadata": {"n": null}})]);
    let checks: Vec<_> = turn.expect.iter().map(|expected| &expected.check).collect();
    let [Check::Schema(schema), Check::Eq(arguments)] = checks[..] else {
        panic!("{checks:?}");
    };
    assert_eq!((schema, arguments), (&json!({"enum": ["a", null]}), &json!({"city": null})));

    let file = FILE.replace("to = 'agent'", "to = 'agent'\ncontains_any = '{row.tags}'");
    let null = ROW.replace("[\"a\", 1]", "[\"a\", null]").replace("\"x\"", "\"y\"");
    let error = source(&file, &format!("{ROW}\n{null}\n")).unwrap_err();
    assert!(
        error.ends_with(
            "contains_any[1]: expected a text that is not empty, found null, with tasks.jsonl:2"
        ),
        "{error}"
    );
}

#[test]
fn cells_are_the_product_of_the_axes() {
    let source = source(FILE, ROW).unwrap();
    let cells = source.cells();
    let cells: Vec<_> = cells.iter().map(|cell| cell_texts(cell)).collect();
    let cell = |heat: &str, model: &str| {
        let pairs = [("heat", heat), ("model", model)];
        pairs.map(|(axis, value)| (axis.to_owned(), value.to_owned())).into()
    };
    let expected = [cell("0", "a"), cell("0", "b"), cell("0.5", "a"), cell("0.5", "b")];
    assert_eq!(cells, expected);
}

#[test]
fn an_unfilled_placeholder_is_reported_with_file_line_and_field() {
    let expected = "a.toml:11:8: config.turn[0].text: {row.question}: expected a field of tasks.jsonl:2: answer, price, tags";
    let error = source(
        FILE,
        &format!("{ROW}\n{{\"price\": \"\", \"tags\": [], \"answer\": {{\"n\": 1}}}}\n"),
    );
    let error = error.unwrap_err();
    assert!(error.lines().any(|line| line == expected), "{error}");
    for (from, to, expected) in [
        (
            "{row.answer.n}",
            "{row.answer.m}",
            "harness.expect[0].eq: {row.answer.m}: expected a field of tasks.jsonl:1: answer.n",
        ),
        (
            "{row.answer.n}",
            "{row.answers.n}",
            "{row.answers.n}: did you mean {row.answer.n}? expected a field",
        ),
        (
            "{row.tags}",
            "{row.xyz}",
            "{row.xyz}: expected a field of tasks.jsonl:1: answer, id, price, question, tags",
        ),
        (
            "{matrix.model}",
            "{matrix.modell}",
            "participants[0].cmd: {matrix.modell}: did you mean {matrix.model}? expected an axis of harness.matrix: heat, model",
        ),
        (
            "dataset = 'tasks.jsonl'\n",
            "",
            "{row.question}: expected a dataset: harness.dataset = \"FILE\"",
        ),
        (
            "'tasks.jsonl'",
            "'none.jsonl'",
            "a.toml:14:11: harness.dataset: none.jsonl: cannot be read: ",
        ),
        ("['a', 'b']", "[]", "harness.matrix.model: expected at least one value"),
        ("['a', 'b']", "['a', 'a']", "harness.matrix.model: expected each value once"),
        (
            "['a', 'b']",
            "[['a']]",
            "harness.matrix.model[0]: expected a text, a number, true or false",
        ),
        ("'tasks.jsonl'", "7", "harness.dataset: expected text, found 7"),
    ] {
        assert!(FILE.contains(from), "{from}");
        let error = source(&FILE.replace(from, to), ROW).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    let null = ROW.replace("7", "null");
    let error = source(FILE, &null).unwrap_err();
    assert!(
        error.contains("{row.answer.n}: expected a value, found null in tasks.jsonl:1"),
        "{error}"
    );
}

#[test]
fn all_mistakes_are_reported_although_values_are_missing() {
    let wrong = FILE
        .replace("version = 1", "version = 1\ntrails = 2")
        .replace("'{row.answer.n}'", "7\nge = 7");
    let lines = |file: &str| {
        let error = source(file, ROW).unwrap_err();
        error.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let others = lines(&wrong);
    assert!(others[0].contains("harness.trails: unknown key; did you mean trials?"), "{others:?}");
    for (from, to, expected) in [
        ("'tasks.jsonl'", "'none.jsonl'", "harness.dataset: none.jsonl: cannot be read"),
        ("['a', 'b']", "[]", "harness.matrix.model: expected at least one value"),
        ("{row.tags}", "{row.tag}", "{row.tag}: did you mean {row.tags}?"),
    ] {
        let mut found = lines(&wrong.replace(from, to));
        let own = found.iter().position(|line| line.contains(expected));
        found.remove(own.unwrap_or_else(|| panic!("{found:?}")));
        assert_eq!(found, others);
    }
    let untold = lines(
        &FILE.replace("trials", "x").replace("version = 1", "version = 1\ntrials = '{row.n}'"),
    );
    assert_eq!(untold.len(), 1, "{untold:?}");
}

#[test]
fn files_that_other_programs_read_are_left_as_they_are() {
    let file = "[green_agent]\nendpoint = 'http://h'\n[config]\nprompt = '{row.x} {matrix.y}'\n";
    let scenario = source(file, "").unwrap().first().unwrap();
    assert_eq!(scenario.config["prompt"], "{row.x} {matrix.y}");
}

#[test]
fn a_text_of_nothing_but_row_becomes_the_whole_row() {
    let file = "[green_agent]\nendpoint = 'http://h'\n[config]\ntask = '{row}'\nprompt = 'a {row}'\n\
                [harness]\nversion = 1\n";
    let with_rows = format!("{file}dataset = 'tasks.jsonl'\n");
    let row = r#"{"id": "x", "price": 1.5, "tags": ["a", {"n": 7}], "nothing": null}"#;
    let config = |file: &str| source(file, row).unwrap().first().unwrap().config;
    let whole = json!({"id": "x", "price": 1.5, "tags": ["a", {"n": 7}], "nothing": null});
    assert_eq!(config(&with_rows)["task"], whole);
    assert_eq!(config(&with_rows)["prompt"], "a {row}");
    assert_eq!(config(file)["task"], "{row}");

    let file = "[green_agent]\nendpoint = 'http://h:1'\ncmd = 'green {row} a{row} 1'\nenv = { ROW = '{row}' }\n\
                [harness]\nversion = 1\ndataset = 'tasks.jsonl'\n";
    let row = r#"{"id": "a b", "price": "$5"}"#;
    let scenario = source(file, row).unwrap().first().unwrap();
    let Green::Agent(green) = &scenario.green else {
        panic!("the green agent is a program");
    };
    let Start::Program { cmd, .. } = &green.start else {
        panic!("the green agent is started");
    };
    assert_eq!(cmd[1..3], [r#"{"id":"a b","price":"$5"}"#, "a{row}"]);
    assert_eq!(green.env["ROW"], r#"{"id":"a b","price":"$$5"}"#);
}

#[test]
fn data_that_is_sent_is_no_check() {
    let parts = "parts = [{ data = { contains = '{row.empty}', matches = 'of {row.price}' } }]";
    let file = FILE.replace("text = '{row.question} (${row.question}, {agent}, {row})'", parts);
    assert_ne!(file, FILE);
    let row = ROW.replace("{\"id\"", "{\"empty\": \"\", \"id\"");
    let scenario = source(&file, &row).unwrap().first().unwrap();
    let Green::Builtin(Evaluator::Conversation(conversation)) = &scenario.green else {
        panic!("{:?}", scenario.green);
    };
    let data = &conversation.turns[0].parts[0]["data"];
    assert_eq!(*data, json!({"contains": "", "matches": "of $HOME"}));
}
