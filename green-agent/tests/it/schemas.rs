//! The files of runs are valid under the schemas that `green-agent schema` prints, and programs of others make types of these.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use clap::ValueEnum as _;
use green_agent_results::schema::ResultFile;
use serde_json::Value;

use crate::venv;

/// A validator, and a program that generates classes.
const PACKAGES: [&str; 3] =
    ["jsonschema==4.26.0", "datamodel-code-generator==0.89.0", "pydantic==2.14.4"];

fn name_of(file: ResultFile) -> String {
    file.to_possible_value().unwrap().get_name().to_owned()
}

/// Checks a document, or each line of a file of lines.
pub(crate) fn check(file: ResultFile, path: &Path) {
    let validator = jsonschema::validator_for(&file.schema()).unwrap();
    let text = fs::read_to_string(path).unwrap();
    let is_lines = path.extension().is_some_and(|extension| extension == "jsonl");
    let documents = if is_lines { text.lines().collect() } else { vec![text.as_str()] };
    for document in documents {
        let document: Value = serde_json::from_str(document).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(&document)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{}: {errors:#?}\n{document}", path.display());
    }
}

/// Checks every file of a run that has a schema.
pub(crate) fn check_run(run: &Path) {
    for (file, path) in files(run) {
        check(file, &path);
    }
}

/// Returns every file of a run that has a schema.
fn files(run: &Path) -> Vec<(ResultFile, PathBuf)> {
    let mut found = Vec::new();
    let mut folders = vec![run.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let file = match path.file_name().unwrap().to_str().unwrap() {
                "run.json" => ResultFile::Run,
                "records.jsonl" => ResultFile::Record,
                "transcript.jsonl" => ResultFile::Transcript,
                "report.json" => ResultFile::Trial,
                _ => {
                    folders.extend(path.is_dir().then_some(path));
                    continue;
                }
            };
            found.push((file, path));
        }
    }
    found
}

#[test]
fn the_schemas_are_schemas_and_describe_every_member() {
    for &file in ResultFile::value_variants() {
        let schema = file.schema();
        jsonschema::draft202012::meta::validate(&schema).unwrap();
        let types = schema["$defs"].as_object().unwrap().values();
        for one in types.chain([&schema]) {
            assert!(one["description"].is_string(), "{file:?}: {one}");
            for (name, member) in one["properties"].as_object().into_iter().flatten() {
                let said = member["description"].as_str().unwrap_or_default();
                assert!(!said.is_empty(), "{file:?}: {name}");
                // These are for readers of the source.
                assert!(!said.contains("[`") && !said.contains("`None`"), "{file:?}: {said}");
            }
        }
    }
}

/// Strict validators, such as npm's ajv, refuse a schema with a format that they do not know, such as `uint32`.
#[test]
fn no_schema_has_a_format_that_only_rust_has() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let others = ["bridge/bridge.schema.json", "scenarios/scenario.schema.json"];
    let others = others.map(|path| fs::read_to_string(root.join(path)).unwrap());
    let results = ResultFile::value_variants().iter().map(|file| format!("{:#}", file.schema()));
    for schema in others.into_iter().chain(results) {
        assert!(!schema.contains("\"format\": \""), "{schema}");
    }
}

const TASKS: &str = "{\"id\": \"greeting\", \"input\": \"Hello\", \"target\": \"Hello\"}\n\
     {\"id\": \"wrong\", \"input\": \"Good day\", \"target\": \"no such answer\"}\n";

const SCENARIO: &str = "[green_agent]\n[[participants]]\nrole = 'assistant'\nbuiltin = 'sample'\n\
     [config]\nevaluator = 'conversation'\n\
     [[config.turn]]\nto = 'assistant'\ntext = '{row.input}, {matrix.name}'\nstream = true\ncontains = '{row.target}'\n\
     [harness]\nversion = 1\ntrials = 2\ndataset = 'tasks.jsonl'\nmatrix = { name = ['Ada', 'Bob'] }\n\
     [harness.gate]\npass_rate = { ge = 0.4, lower = 0.01 }\n";

/// A scenario whose agent ends at its start, and one that cannot be read.
const BROKEN: [(&str, &str); 2] = [
    (
        "dies.toml",
        "[green_agent]\n[[participants]]\nrole = 'assistant'\nendpoint = 'http://127.0.0.1:9019'\ncmd = 'false'\n\
         [config]\nevaluator = 'conversation'\n[[config.turn]]\nto = 'assistant'\ntext = 'Hello'\n\
         [harness]\nversion = 1\nports = 'auto'\n",
    ),
    ("unreadable.toml", "[green_agent]\nendpoint = 3\n"),
];

fn run(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_green-agent"));
    command.current_dir(folder).args(args).output().unwrap()
}

fn only_folder(folder: &Path) -> PathBuf {
    let mut entries = fs::read_dir(folder).unwrap();
    entries.next().unwrap().unwrap().path()
}

/// Writes the files of runs that differ in what they have: a gate, a comparison with an earlier run, a matrix, trials that fail
/// and trials that cannot begin. Returns each file.
fn written(folder: &Path) -> Vec<(ResultFile, PathBuf)> {
    fs::write(folder.join("tasks.jsonl"), TASKS).unwrap();
    fs::write(folder.join("a.toml"), SCENARIO).unwrap();
    run(folder, &["run", "a.toml", "--runs", "earlier", "--report", "json=earlier.json"]);
    let earlier = only_folder(&folder.join("earlier"));
    let regress = "regress = { metric = 'score', max_rise = 0.5, against";
    let scenario = format!("{SCENARIO}{regress} = '{}' }}\n", earlier.display());
    fs::write(folder.join("a.toml"), scenario).unwrap();
    for (name, text) in BROKEN {
        fs::write(folder.join(name), text).unwrap();
    }
    let output = run(folder, &["run", ".", "--runs", "later", "--report", "json=later.json"]);
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    let later = only_folder(&folder.join("later"));
    let [earlier_name, later_name] = [&earlier, &later].map(|run| run.to_str().unwrap());
    let compared = run(folder, &["diff", earlier_name, later_name, "--json"]);
    fs::write(folder.join("comparison.json"), compared.stdout).unwrap();
    let mut found = vec![
        (ResultFile::Report, folder.join("earlier.json")),
        (ResultFile::Report, folder.join("later.json")),
        (ResultFile::Comparison, folder.join("comparison.json")),
    ];
    found.extend([earlier, later].iter().flat_map(|run| files(run)));
    for &kind in ResultFile::value_variants() {
        assert!(found.iter().any(|(file, _)| *file == kind), "{kind:?}: {found:?}");
    }
    found
}

#[tokio::test]
async fn programs_of_others_validate_and_read_what_runs_write() {
    let folder = tempfile::tempdir().unwrap();
    let found = written(folder.path());
    for (file, path) in &found {
        check(*file, path);
    }
    let list: Vec<_> = found.iter().map(|(file, path)| (name_of(*file), path)).collect();
    let list_file = folder.path().join("files.json");
    fs::write(&list_file, serde_json::to_vec(&list).unwrap()).unwrap();
    let bin = venv::with(&PACKAGES).await.join("bin");
    let output = Command::new(bin.join("python"))
        .args(["-I", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/schemas.py")])
        .args([env!("CARGO_BIN_EXE_green-agent").as_ref(), list_file.as_path()])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}
