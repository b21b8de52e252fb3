//! The ports and the variables that programs get.

use std::{fs, net::TcpListener, process::Command};

use super::{Folder, shown};
use crate::ports;

/// It listens at the port that its environment names, as many servers do, and says which variables it got.
const AGENT: &str = r#"import os
from agent import Agent, server
class Told(Agent):
    def answer(self):
        return f"at {os.environ['ADMIN_PORT']}, limit {os.environ['LIMIT']}"
server(os.environ["PORT"], Told).serve_forever()
"#;

#[test]
fn a_port_in_a_variable_of_that_name_is_moved() {
    // This test has the port of the file.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let folder = Folder::new(&format!(
        "[green_agent]\n[[participants]]\nrole = 'a'\nendpoint = 'http://127.0.0.1:{port}'\ncmd = 'python3 mine.py'\n\
         env = {{ PORT = {port}, ADMIN_PORT = 9010, LIMIT = {port} }}\n\
         [config]\nevaluator = 'conversation'\n[[config.turn]]\nto = 'a'\ntext = 'Hello'\ncontains = 'at 9010, limit {port}'\n\
         [harness]\nversion = 1\nports = 'auto'\nsnapshot = false\n",
    ));
    folder.agent(AGENT);
    let ended = folder.run(&["run", "a.toml"]);
    assert_eq!(ended.status.code(), Some(0), "{}", shown(&ended));
}

#[test]
fn a_free_port_is_given_in_variables_too() {
    let folder = Folder::new(
        "[green_agent]\n[[participants]]\nrole = 'a'\nendpoint = 'http://127.0.0.1:9010'\n\
         [config]\nevaluator = 'conversation'\n[[config.turn]]\nto = 'a'\ntext = 'Hello'\ncontains = 'at 9010'\n\
         [harness]\nversion = 1\nsnapshot = false\n",
    );
    folder.agent(AGENT);
    let overlay = "[[participants]]\nrole = 'a'\ncmd = 'python3 mine.py --port {port}'\n\
                   env = { PORT = '{port}', ADMIN_PORT = 9010, LIMIT = 1 }\n";
    folder.file("local.toml", overlay);
    let ended = folder.run(&["run", "a.toml", "--overlay", "local.toml"]);
    assert_eq!(ended.status.code(), Some(0), "{}", shown(&ended));
}

/// It says how its password begins.
const TOLD: &str = r#"import sys
from agent import Agent, server
class Told(Agent):
    def answer(self):
        return f"got {sys.argv[3][:4]}"
server(int(sys.argv[1]), Told).serve_forever()
"#;

#[test]
fn a_run_does_not_keep_the_secrets_of_its_flags() {
    let folder = Folder::new(
        "[green_agent]\n[[participants]]\nrole = 'a'\nendpoint = 'http://127.0.0.1:9010'\n\
         [config]\nevaluator = 'conversation'\n[[config.turn]]\nto = 'a'\ntext = 'Hello'\ncontains = 'got hunt'\n\
         [harness]\nversion = 1\nsnapshot = false\n",
    );
    folder.agent(TOLD);
    let agent = "a=python3 mine.py {port} --password hunter2";
    let ended = folder.run(&["run", "a.toml", "--agent", agent]);
    assert_eq!(ended.status.code(), Some(0), "{}", shown(&ended));
    let run = folder.only_run();
    let found = Command::new("grep").args(["-r", "hunter2"]).arg(&run).output().unwrap();
    assert_eq!(String::from_utf8(found.stdout).unwrap(), "");

    // No trial has ended.
    fs::write(run.join("records.jsonl"), "").unwrap();
    let run = run.to_str().unwrap();
    let refused = folder.run(&["run", "--resume", run]);
    assert_eq!(refused.status.code(), Some(2), "{}", shown(&refused));
    let repeated = "--agent 'a=python3 mine.py {port} --password [masked]'";
    assert!(shown(&refused).contains(repeated), "{}", shown(&refused));
    let ended = folder.run(&["run", "--resume", run, "--agent", agent]);
    assert_eq!(ended.status.code(), Some(0), "{}", shown(&ended));
}

/// A manifest of AgentBeats with one agent, whose manifest is beside it.
const MANIFEST: &str = r##"{
    components: {
        gateway: { config: { assessment_config: {}, participant_roles: { purple1: "a" } } },
        green: { manifest: { program: {} } },
        one: { manifest: "./one.json5", config: { limit: 7 } },
    },
    bindings: [{ to: "#gateway.green", from: "#green.a2a" }, { to: "#gateway.purple1", from: "#one.a2a" }],
}"##;

#[test]
fn a_manifest_gives_variables_and_no_advice_about_tables_that_it_cannot_have() {
    let folder = Folder::new("");
    folder.agent(
        "import os\nprint('limit', os.environ['LIMIT'], 'key', os.environ['THE_KEY'][:1])\n",
    );
    folder.file("scenario.json5", MANIFEST);
    folder.file(
        "one.json5",
        "{ program: { env: { LIMIT: '${config.limit}', THE_KEY: '${config.key}', HINT: '${slots.proxy}' } } }",
    );
    let start =
        ["--agent", "a=python3 mine.py --port {port}", "--agent", "green=http://127.0.0.1:9"];
    let args: Vec<&str> = ["run", "scenario.json5"].into_iter().chain(start).collect();
    let ended = folder.program(&args).env("THE_KEY", "k").output().unwrap();
    let said = shown(&ended);
    assert!(said.contains("limit 7 key k") && !said.contains("[harness]"), "{said}");
    let said = shown(&folder.run(&["check", "scenario.json5"]));
    assert!(said.contains("write a scenario.toml that names these agents"), "{said}");
}

/// It needs a variable.
const NEEDY: &str = "import os\nprint(os.environ['SHOP_TOKEN'])\n";

#[test]
fn a_program_that_lacks_a_variable_is_told_how_it_gets_it() {
    // A file without [harness] has fixed ports.
    let port = ports::unused();
    let scenario = format!(
        "[green_agent]\n[[participants]]\nrole = 'a'\nendpoint = 'http://127.0.0.1:{port}'\ncmd = 'python3 mine.py {port}'\n\
         [config]\nevaluator = 'conversation'\n[[config.turn]]\nto = 'a'\ntext = 'Hello'\n"
    );
    let folder = Folder::new(&format!("{scenario}[harness]\nversion = 1\nports = 'auto'\n"));
    folder.agent(NEEDY);
    let ended = folder.program(&["run", "a.toml"]).env("SHOP_TOKEN", "s3cret-value").output();
    let said = shown(&ended.unwrap());
    let how =
        "Variables that are set, but that a does not get: pass_env = [\"SHOP_TOKEN\"] passes them.";
    assert!(said.contains(how), "{said}");

    folder.file("a.toml", &scenario);
    let said = shown(&folder.run(&["run", "a.toml"]));
    assert!(said.contains("needs version = 1, and env = \"inherit\""), "{said}");
}
