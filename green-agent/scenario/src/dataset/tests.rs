//! Tests the three forms of datasets, and the errors of invalid files.

use serde_json::json;

use super::*;

fn read(name: &str, content: impl AsRef<[u8]>) -> Result<Dataset, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    let shown = format!("{}/", folder.path().display());
    Dataset::read(&path).map_err(|error| error.to_string().replace(&shown, ""))
}

/// Returns name, line and fields of each row.
fn rows(name: &str, content: impl AsRef<[u8]>) -> Vec<(String, usize, Value)> {
    let rows = read(name, content).unwrap().rows.into_iter();
    rows.map(|row| (row.name, row.line, Value::Object(row.fields))).collect()
}

#[test]
fn a_file_of_inspect_ai_is_read() {
    let text = "{\"id\": \"q-1\", \"input\": \"2 + 2?\", \"target\": \"4\", \"metadata\": {\"level\": 1}}\n\
                \n{\"id\": 7, \"input\": [{\"role\": \"user\", \"content\": \"Hi\"}], \"target\": [\"a\", \"b\"]}\n";
    let dataset = read("tasks.jsonl", text).unwrap();
    let names: Vec<_> = dataset.rows.iter().map(|row| &row.name[..]).collect();
    assert_eq!(names, ["q-1", "7"]);
    assert_eq!(dataset.rows[1].line, 3);
    assert_eq!(dataset.rows[0].get("metadata.level"), Some(&json!(1)));
    assert_eq!(dataset.rows[1].get("input.0.content"), Some(&json!("Hi")));
    assert_eq!(dataset.rows[1].get("input.1"), None);
}

#[test]
fn a_file_of_promptfoo_is_read() {
    let text = "\u{feff}language,input,__expected\r\n\
                French,\"Hello, world\",contains: Bonjour\r\n\
                \r\n\
                German,\"He said \"\"hi\"\"\nand left\",\r\n\
                Dutch,,x";
    let row = |name: &str, line, language: &str, input: &str, expected: &str| {
        let fields = json!({"language": language, "input": input, "__expected": expected});
        (name.to_owned(), line, fields)
    };
    assert_eq!(
        rows("tests.csv", text),
        [
            row("1", 2, "French", "Hello, world", "contains: Bonjour"),
            row("2", 4, "German", "He said \"hi\"\nand left", ""),
            row("3", 6, "Dutch", "", "x"),
        ]
    );
}

#[test]
fn rows_of_toml_are_read() {
    let text = "[[row]]\nid = 'a'\nn = 1\n\n[[row]]\nn = 2.5\nlist = [true]\n";
    assert_eq!(
        rows("tasks.toml", text),
        [
            ("a".to_owned(), 1, json!({"id": "a", "n": 1})),
            ("2".to_owned(), 5, json!({"n": 2.5, "list": [true]})),
        ]
    );
}

#[test]
fn rows_of_public_benchmarks_have_their_names() {
    for (text, expected) in [
        (
            "{\"task_id\": \"HumanEval/0\"}\n{\"task_id\": \"HumanEval/1\"}",
            ["HumanEval/0", "HumanEval/1"],
        ),
        ("{\"repo\": \"a\", \"instance_id\": \"a-7\"}\n{\"instance_id\": \"b-7\"}", ["a-7", "b-7"]),
        ("{\"question_id\": 70}\n{\"question_id\": 71}", ["70", "71"]),
        (
            "{\"task_id\": 1, \"question_id\": 70}\n{\"task_id\": 1, \"question_id\": 71}",
            ["70", "71"],
        ),
        // No field names each row.
        ("{\"task_id\": \"a\"}\n{\"task_id\": \"a\"}", ["1", "2"]),
        ("{\"task_id\": \"a\"}\n{}", ["1", "2"]),
        ("{\"id\": \"x\", \"task_id\": \"a\"}\n{\"task_id\": \"b\"}", ["x", "2"]),
    ] {
        let names = rows("tasks.jsonl", text).into_iter().map(|(name, ..)| name);
        assert_eq!(names.collect::<Vec<_>>(), expected, "{text}");
    }
}

#[test]
fn mistakes_are_reported_with_file_and_line() {
    for (name, text, expected) in [
        ("a.jsonl", "", "a.jsonl: expected at least one row"),
        ("a.jsonl", "{}\n[1]\n", "a.jsonl:2: expected an object as JSON on one line: found a list"),
        ("a.jsonl", "{}\n{\"a\":\n", "a.jsonl:2: expected an object as JSON on one line: EOF"),
        (
            "a.jsonl",
            "{\"id\": \"x\"}\n\n{\"id\": \"x\"}\n",
            "a.jsonl:3: id: \"x\" is the id of the row on line 1 too",
        ),
        (
            "a.jsonl",
            "{\"id\": \"2\"}\n{}\n",
            "a.jsonl:2: id: \"2\" is the id of the row on line 1 too",
        ),
        (
            "a.jsonl",
            "{\"id\": null}\n",
            "a.jsonl:1: id: expected a text that is not empty, or a number",
        ),
        ("a.csv", "a,b\n1,2\n1\n", "a.csv:3: expected 2 fields as in the first line, found 1"),
        ("a.csv", "a;b\n1;2\n", "a.csv:1: expected commas between the names, found \"a;b\""),
        (
            "a.csv",
            "\"Note: free\",,\na,b,c\n",
            "a.csv:1: expected the names of the columns, each once, found \"\" twice",
        ),
        ("a.csv", "a\n\"x\ny\n", "a.csv:2: expected a closing quote"),
        (
            "a.csv",
            "a,b\n\"x\"y,1\n",
            "a.csv:2: expected a comma or the end of the line after a closing quote",
        ),
        ("a.csv", "a,b\n", "a.csv: expected at least one row"),
        ("a.toml", "x = 1\n", "a.toml:1: expected tables [[row]] only, found \"x\""),
        ("a.toml", "[[row]]\na = 1\na = 2\n", "a.toml:3: expected TOML: duplicate key"),
        ("a.toml", "\nrow = 1\n", "a.toml:2: expected tables [[row]]"),
        (
            "a.json",
            "[]",
            "a.json: expected a file whose name ends in .jsonl, .ndjson, .csv or .toml; rename it to .jsonl if each line is an object; \
             of a list, jq -c '.[]' FILE > rows.jsonl makes lines",
        ),
        (
            "a.jsonl",
            "[\n  {}\n]",
            "a.jsonl:1: expected an object as JSON on one line: EOF while parsing a list at column 1; \
             jq -c '.[]' FILE > rows.jsonl makes a line of each element of a list",
        ),
        (
            "a.jsonl",
            "{\n  \"a\": 1\n}",
            "a.jsonl:1: expected an object as JSON on one line: EOF while parsing an object at column 1; \
             jq -c . FILE > rows.jsonl makes a line of each object",
        ),
        (
            "a.tsv",
            "a\tb\n",
            "a.tsv: expected a file whose name ends in .jsonl, .ndjson, .csv or .toml; convert it, with pandas for example: \
             read_csv(FILE, sep=\"\\t\").to_csv(\"rows.csv\", index=False)",
        ),
    ] {
        let error = read(name, text).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
    let error = read("a.csv", b"a\nx\n\xff\n").unwrap_err();
    assert_eq!(error, "a.csv:3: expected UTF-8");
    let error = read("a.jsonl.gz", b"\x1f\x8b\xff").unwrap_err();
    assert!(
        error.contains("ends in .jsonl, .ndjson, .csv or .toml; unpack or convert it"),
        "{error}"
    );
}

#[test]
fn a_dataset_has_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    let file = File::create(&path).unwrap();
    file.set_len(MAX_BYTES + 1).unwrap();
    let error = Dataset::read(&path).unwrap_err();
    assert!(error.to_string().ends_with("expected at most 67108864 bytes"), "{error}");
    let error = read("a.csv", "a\n".to_owned() + &"1\n".repeat(MAX_ROWS + 1)).unwrap_err();
    assert_eq!(error, "a.csv: expected at most 100000 rows");
}

#[test]
fn a_digest_depends_on_the_fields_and_not_on_their_order() {
    let of = |line: &str| read("a.jsonl", line).unwrap().rows[0].digest.clone();
    let first = of("{\"a\": 1, \"b\": 2}");
    assert_eq!(first, of("{\"b\": 2, \"a\": 1}"));
    assert_ne!(first, of("{\"a\": 1, \"b\": 3}"));
    assert!(first.starts_with("sha256:") && first.len() == 71, "{first}");
}
