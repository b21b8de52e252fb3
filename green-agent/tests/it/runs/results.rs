//! What is made of the results of evaluators.

use super::{Folder, records, shown};

/// An evaluator whose figures are in other places than at the top level of its result.
const EVALUATOR: &str = r#"import json, sys
from agent import Agent, server
class Evaluator(Agent):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        data = {"summary": {"average_score": 0.25}, "tasks": [{"reward": 1}, {"reward": False}]}
        self.send(200, {"jsonrpc": "2.0", "id": request["id"], "result": {
            "kind": "task", "id": "t", "contextId": "c", "status": {"state": "completed"},
            "artifacts": [{"artifactId": "r", "parts": [{"kind": "data", "data": data}]}]}})
server(sys.argv[1], Evaluator).serve_forever()
"#;

const SCENARIO: &str = "[green_agent]\nendpoint = 'http://127.0.0.1:9009'\ncmd = 'python3 mine.py 9009'\n\
     [[participants]]\nrole = 'assistant'\nbuiltin = 'echo'\n\
     [harness]\nversion = 1\nports = 'auto'\npass_score = 0.5\n";

#[test]
fn figures_that_are_deep_in_a_result_become_metrics_by_their_place() {
    let scenario = format!("{SCENARIO}snapshot = false\n");
    let folder = Folder::new(&scenario);
    folder.agent(EVALUATOR);
    let metrics =
        "metrics = { score = '/0/summary/average_score', reward = '$[0].tasks[*].reward' }\n";
    folder.file("a.toml", &format!("{scenario}{metrics}"));
    let ended = folder.run(&["run", "a.toml"]);
    assert_eq!(ended.status.code(), Some(1), "{}", shown(&ended));
    assert!(shown(&ended).contains("reward 0.5  score 0.25"), "{}", shown(&ended));
    assert!(shown(&ended).contains("the score is 0.25, below 0.5"), "{}", shown(&ended));

    // Another place, in which there is nothing, is a problem of the evaluation. The trial counts all the same.
    let run = folder.only_run().display().to_string();
    folder.file("a.toml", &format!("{scenario}metrics = {{ score = '/0/average' }}\n"));
    folder.run(&["regrade", &run, "--into", "again"]);
    let again = &records(&folder.0.path().join("again"))[0];
    let missing =
        again.problems.iter().find(|one| one.message.starts_with("harness.metrics.score: "));
    let missing = serde_json::to_value(missing).unwrap();
    assert_eq!(missing["owner"], "evaluator", "{again:?}");
    let why = "harness.metrics.score: nothing at /0/average; /0 has: summary, tasks; correct the place, then green-agent \
               regrade RUN --into DIR judges this run again";
    assert_eq!(missing["message"], why);
    assert_eq!((again.outcome.title(), again.problems.len()), ("failed", 1), "{again:?}");
}

#[test]
fn a_report_that_cannot_be_written_is_noticed_before_the_first_trial() {
    let folder = Folder::new("");
    folder.file("a.toml", crate::runs::SCENARIO);
    folder.file("tasks.jsonl", crate::runs::TASKS);
    for report in ["json=.", "html=.", "junit=tasks.jsonl/a.xml", "atif=tasks.jsonl"] {
        let ended = folder.run(&["run", "a.toml", "--report", report]);
        let said = shown(&ended);
        assert_eq!(ended.status.code(), Some(4), "{report}: {said}");
        let words = format!("cannot write the report {report}: ");
        assert!(said.contains(&words), "{report}: {said}");
        assert!(folder.runs().is_empty(), "{report}: {said}");
    }
    let ended = folder.run(&["run", "a.toml", "--report", "json=new/a.json"]);
    assert_eq!(ended.status.code(), Some(1), "{}", shown(&ended));
    assert_eq!(folder.report("new/a.json")["exit"], 1);
}

#[test]
fn a_run_that_passes_without_a_score_says_where_the_score_probably_is() {
    let rows = "{\"id\": \"a\"}\n{\"id\": \"b\"}\n";
    let folder = Folder::new(&SCENARIO.replace("pass_score = 0.5", "dataset = 'rows.jsonl'"));
    folder.file("rows.jsonl", rows);
    folder.agent(EVALUATOR);
    let checked = folder.run(&["check", "a.toml"]);
    assert!(shown(&checked).contains("whatever its score"), "{}", shown(&checked));
    let ended = folder.run(&["run", "a.toml", "--report", "markdown=m.md"]);
    assert_eq!(ended.status.code(), Some(0), "{}", shown(&ended));
    let note = "passed because it completed; it has no score: with metrics = { score = \"/0/summary/average_score\" } in \
                [harness], 0.25 of its result is the score; pass_score = N is the least that passes";
    let told = format!("note: 2 trials, the first of which {note}");
    assert!(shown(&ended).contains(&told), "{}", shown(&ended));
    let comment = std::fs::read_to_string(folder.0.path().join("m.md")).unwrap();
    assert!(comment.contains(&format!("a: 2 trials, the first of which {note}")), "{comment}");
    let records = records(&folder.only_run());
    assert!(records.iter().all(|record| record.note.as_deref() == Some(note)), "{records:?}");
}

#[test]
fn an_evaluator_that_calls_no_agent_and_finds_nothing_has_failed_itself() {
    let words = r#""message": {"kind": "message", "role": "agent", "messageId": "m",
                "parts": [{"kind": "text", "text": "Missing roles: {'purple'}"}]}"#;
    let figures =
        r#"{"summary": {"average_score": 0.25}, "tasks": [{"reward": 1}, {"reward": False}]}"#;
    for (state, exit, result, pass_score) in [
        ("completed", 4, "{}", ""),
        ("completed", 4, "{}", "pass_score = 0.5"),
        ("failed", 4, "{}", ""),
        ("canceled", 4, "{}", ""),
        ("completed", 0, r#"{"score": 1}"#, ""),
    ] {
        let harness = format!("snapshot = false\n{pass_score}");
        let folder = Folder::new(&SCENARIO.replace("pass_score = 0.5", &harness));
        let status = format!(r#"{{"state": "{state}", {words}}}"#);
        let evaluator = EVALUATOR.replace(r#"{"state": "completed"}"#, &status);
        folder.agent(&evaluator.replace(figures, result));
        let ended = folder.run(&["run", "a.toml"]);
        assert_eq!(ended.status.code(), Some(exit), "{state} {}", shown(&ended));
        if exit == 4 {
            let record = &records(&folder.only_run())[0];
            assert_eq!(record.outcome.title(), "evaluator error", "{}", shown(&ended));
            assert!(shown(&ended).contains("Missing roles: {'purple'}"), "{}", shown(&ended));
            assert!(shown(&ended).contains("the evaluator called no agent"), "{}", shown(&ended));
        }
    }
}

#[test]
fn a_snapshot_that_is_not_there_yet_is_no_failure_of_the_agent() {
    let folder = Folder::new(&SCENARIO.replace("pass_score = 0.5\n", ""));
    folder.agent(EVALUATOR);
    let reports = ["--report", "junit=j.xml", "--report", "markdown=m.md"];
    let ended = folder.run(&[&["run", "a.toml", "--trials", "2"], &reports[..]].concat());
    assert_eq!(ended.status.code(), Some(1), "{}", shown(&ended));
    assert!(shown(&ended).contains("2 passed  pass rate 1 "), "{}", shown(&ended));
    assert!(
        shown(&ended).contains("trial 1: no snapshot: snapshots/a.snap does not exist"),
        "{}",
        shown(&ended)
    );
    let comment = std::fs::read_to_string(folder.0.path().join("m.md")).unwrap();
    assert!(comment.contains("<summary>a, trial 1: no snapshot</summary>"), "{comment}");
    let junit = std::fs::read_to_string(folder.0.path().join("j.xml")).unwrap();
    assert!(junit.contains("failures=\"0\" errors=\"1\""), "{junit}");
    assert!(junit.contains("(fault: harness)"), "{junit}");
}

/// An agent that answers each task with the report that its model could not be used.
const LIAR: &str = r#"import json, sys
from agent import Agent, server
class Liar(Agent):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        message = {"kind": "message", "role": "agent", "messageId": "1",
            "metadata": {"urn:a2a-evaluation:fault": "model"}, "parts": [{"kind": "text", "text": "too hard"}]}
        self.send(200, {"jsonrpc": "2.0", "id": request["id"], "result": {"kind": "task", "id": "t",
            "contextId": "c", "status": {"state": "failed", "message": message}}})
server(sys.argv[1], Liar).serve_forever()
"#;

#[test]
fn an_agent_that_is_not_trusted_cannot_have_its_trials_left_out() {
    let conversation = "[config]\nevaluator = 'conversation'\n[[config.turn]]\nto = 'a'\ntext = 'Hello'\nstate = 'completed'\n";
    let episode = "[config]\nevaluator = 'episode'\nenvironment = 'sum'\n";
    for (evaluation, trusted, exit, outcome, said) in [
        (conversation, "", 1, "failed", "scored nevertheless"),
        (conversation, "trusted = true\n", 4, "model error", "too hard"),
        (episode, "trusted = false\n", 1, "failed", "scored nevertheless"),
        (episode, "trusted = true\n", 4, "model error", "too hard"),
    ] {
        let folder = Folder::new(&format!(
            "[green_agent]\n[[participants]]\nrole = 'a'\nendpoint = 'http://127.0.0.1:9009'\n\
             cmd = 'python3 mine.py 9009'\n{trusted}{evaluation}\
             [harness]\nversion = 1\nports = 'auto'\nsnapshot = false\nretries = {{ infrastructure = 1 }}\n"
        ));
        folder.agent(LIAR);
        let ended = folder.run(&["run", "a.toml"]);
        assert_eq!(ended.status.code(), Some(exit), "{}", shown(&ended));
        assert!(shown(&ended).contains(said), "{}", shown(&ended));
        let records = records(&folder.only_run());
        let titles: Vec<_> = records.iter().map(|one| one.outcome.title()).collect();
        let attempts = if exit == 4 { 2 } else { 1 };
        assert_eq!(titles, vec![outcome; attempts]);
        let score = records[0].metrics.get("score");
        assert_eq!(score.copied(), (exit == 1).then_some(0.0));
    }
}

/// An agent that wants credentials once it has seen its task: in the answer to it, or after one.
const LATE_REFUSAL: &str = r#"import json, sys
from agent import Agent, server
class Late(Agent):
    if "secured" in sys.argv:
        card = {**Agent.card, "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-API-Key"}},
                "security": [{"key": []}]}
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if "first" in sys.argv:
            error = {"code": -32001, "message": "no such task"}
            if request["method"] == "message/send": return self.send(401, {})
            return self.send(200, {"jsonrpc": "2.0", "id": request["id"], "error": error})
        if request["method"] in ("tasks/get", "GetTask") or "more" in json.dumps(request):
            return self.send(401, {})
        state = "input-required" if "more" in sys.argv else "working"
        self.send(200, {"jsonrpc": "2.0", "id": request["id"], "result": {"kind": "task", "id": "t",
            "contextId": "c", "status": {"state": state}}})
server(sys.argv[1], Late).serve_forever()
"#;

#[test]
fn an_agent_cannot_leave_a_trial_that_it_has_begun_by_wanting_credentials() {
    let conversation =
        "[config]\nevaluator = 'conversation'\n[[config.turn]]\nto = 'a'\ntext = 'Hello'\n";
    let more = format!("{conversation}[[config.turn]]\nto = 'a'\ntext = 'more'\n");
    let episode = "[config]\nevaluator = 'episode'\nenvironment = 'sum'\n";
    for (argument, evaluation, outcome) in [
        ("", conversation, "agent error"),
        ("more", &more, "agent error"),
        ("", episode, "failed"),
        ("first", conversation, "agent error"),
        ("first secured", conversation, "agent error"),
        ("first secured", episode, "failed"),
    ] {
        let folder = Folder::new(&format!(
            "[green_agent]\n[[participants]]\nrole = 'a'\nendpoint = 'http://127.0.0.1:9009'\n\
             cmd = 'python3 mine.py 9009 {argument}'\n{evaluation}\
             [harness]\nversion = 1\nports = 'auto'\nsnapshot = false\n"
        ));
        folder.agent(LATE_REFUSAL);
        let ended = folder.run(&["run", "a.toml"]);
        assert_eq!(ended.status.code(), Some(1), "{}", shown(&ended));
        let records = records(&folder.only_run());
        assert_eq!(records[0].outcome.title(), outcome, "{}", shown(&ended));
    }
}

/// An MCP server that breaks in the way that it is told.
const BROKEN_SERVER: &str = r#"import json, os, sys
from agent import Agent, server
class Shop(Agent):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        number, method, way = request.get("id"), request["method"], sys.argv[2]
        if method == "server/discover":
            return self.send(200, {"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": "no"}})
        if number is None:
            return self.send(202, {})
        if method == "tools/call" and way == "dies":
            os._exit(7)
        started = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}}
        results = {"initialize": {} if way == "empty" else started,
            "tools/list": {"tools": [{"name": "press", "inputSchema": {"type": "object"}}]},
            "tools/call": {"content": [{"type": "text", "text": "ok"}]}}
        self.send(200, {"jsonrpc": "2.0", "id": number, "result": results[method]})
server(sys.argv[1], Shop).serve_forever()
"#;

/// An agent that presses the button of a shop, and goes on if that fails.
const PRESSER: &str = r#"import json, sys, urllib.request
from agent import Agent, server
class Presser(Agent):
    def answer(self):
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "press", "arguments": {}}}
        asked = urllib.request.Request(sys.argv[2], json.dumps(call).encode(), {"content-type": "application/json"})
        try:
            return urllib.request.urlopen(asked).read().decode()
        except OSError as error:
            return str(error)
server(sys.argv[1], Presser).serve_forever()
"#;

/// An agent could otherwise end each trial that it would fail.
#[test]
fn a_server_that_dies_of_a_tool_call_counts_against_an_agent_that_is_not_trusted() {
    for (trusted, exit, said) in [
        ("false", 1, "agent crashed: shop exited with code 7 while it answered a tool call of a"),
        ("true", 4, "server crashed: shop exited with code 7 while the evaluation ran"),
    ] {
        let folder = Folder::new(&format!(
            "[green_agent]\n[[participants]]\nrole = 'a'\nendpoint = 'http://127.0.0.1:9009'\n\
             cmd = 'python3 presser.py 9009 {{shop}}'\ntrusted = {trusted}\n\
             [[participants]]\nrole = 'shop'\nserver = 'http://127.0.0.1:9500/mcp'\ncmd = 'python3 mine.py 9500 dies'\n\
             [config]\nevaluator = 'conversation'\n[[config.turn]]\nto = 'a'\ntext = 'go'\n\
             [harness]\nversion = 1\nports = 'auto'\nsnapshot = false\n"
        ));
        folder.agent(BROKEN_SERVER);
        folder.file("presser.py", PRESSER);
        let ended = folder.run(&["run", "a.toml"]);
        assert_eq!(ended.status.code(), Some(exit), "{}", shown(&ended));
        assert!(shown(&ended).contains(said), "{}", shown(&ended));
    }
}

#[test]
fn a_server_that_breaks_is_no_failure_of_the_agent() {
    let folder = Folder::new(
        "[green_agent]\n[[participants]]\nrole = 'a'\npolicy = 'scripted'\ntools = 'shop'\n\
         settings = { steps = [{ tool = 'connect_to_mcp_server' }, { tool = 'press' }] }\n\
         [[participants]]\nrole = 'shop'\nserver = 'http://127.0.0.1:9500/mcp'\ncmd = 'python3 mine.py 9500 {matrix.way}'\n\
         [config]\nevaluator = 'conversation'\n[[config.turn]]\nto = 'a'\ntext = 'go'\n\
         [[harness.expect]]\non = 'mcp:press'\npath = '$[0].result.content[0].text'\neq = 'ok'\n\
         [harness]\nversion = 1\nports = 'auto'\nmatrix = { way = ['empty', 'dies', 'works'] }\n",
    );
    folder.agent(BROKEN_SERVER);
    let ended = folder.run(&["run", "a.toml"]);
    assert_eq!(ended.status.code(), Some(4), "{}", shown(&ended));
    for said in [
        "environment error: shop answered initialize with an empty result",
        "server crashed: shop exited with code 7",
        "1 passed, 2 environment error",
    ] {
        assert!(shown(&ended).contains(said), "{said}: {}", shown(&ended));
    }
}

/// A server of models that is broken below /bad.
const MODEL: &str = r#"import sys
from agent import Agent, server
class Model(Agent):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        if self.path.startswith("/bad"):
            return self.send(500, {"error": {"message": "down"}})
        message = {"role": "assistant", "content": "hello"}
        self.send(200, {"choices": [{"message": message, "finish_reason": "stop"}]})
server(sys.argv[1], Model).serve_forever()
"#;

#[test]
fn a_model_that_cannot_be_used_is_no_failure_of_the_agent_in_a_conversation() {
    let scenario = "[green_agent]\n[[participants]]\nrole = 'a'\npolicy = 'llm'\n\
         settings = { model = 'm', base_url = '{model}/{matrix.way}', retries = 0 }\n\
         [[participants]]\nrole = 'model'\nserver = 'http://127.0.0.1:9009'\ncmd = 'python3 mine.py 9009'\n\
         [config]\nevaluator = 'conversation'\n[[config.turn]]\nto = 'a'\ntext = 'Hello'\nstate = 'completed'\n\
         [harness]\nversion = 1\nports = 'auto'\nmatrix = { way = ['bad', 'good'] }\n";
    let folder = Folder::new(scenario);
    folder.agent(MODEL);
    let outcomes = || {
        let records = records(&folder.only_run());
        let mut titles: Vec<_> = records.iter().map(|one| one.outcome.title()).collect();
        titles.sort_unstable();
        titles
    };
    let ended = folder.run(&["run", "a.toml"]);
    assert_eq!(ended.status.code(), Some(4), "{}", shown(&ended));
    assert_eq!(outcomes(), ["model error", "passed"], "{}", shown(&ended));

    // The report says how to repeat it.
    let retries = "retries = { infrastructure = 1 }";
    let how = format!("set {retries} in [harness], then green-agent run --resume runs/");
    assert!(shown(&ended).contains(&how), "{}", shown(&ended));
    folder.file("a.toml", &format!("{scenario}{retries}\n"));
    let run = folder.only_run().display().to_string();
    let ended = folder.run(&["run", "--resume", &run]);
    let again = ["model error", "model error", "passed"];
    assert_eq!(outcomes(), again, "{}", shown(&ended));

    let unchecked = Folder::new(&scenario.replace("state = 'completed'\n", ""));
    unchecked.agent(MODEL);
    let ended = unchecked.run(&["run", "a.toml"]);
    assert_eq!(ended.status.code(), Some(4), "{}", shown(&ended));
}

/// An agent that crashes when it gets a message; with the address of another agent, an evaluator that asks that agent.
const CRASHING: &str = r#"import json, os, sys, urllib.error, urllib.request
from agent import Agent, server
class Crashing(Agent):
    def do_POST(self):
        os._exit(7)
class Evaluator(Agent):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        asked = json.loads(request["params"]["message"]["parts"][0]["text"])
        try:
            urllib.request.urlopen(asked["participants"]["a"], b"{}")
        except urllib.error.HTTPError:
            told = {"role": "agent", "messageId": "m", "parts": [{"kind": "text", "text": "a gave no answer"}]}
        self.send(200, {"jsonrpc": "2.0", "id": request["id"], "result": {
            "kind": "task", "id": "t", "contextId": "c", "status": {"state": "failed", "message": told}}})
server(sys.argv[1], Evaluator if sys.argv[2:] else Crashing).serve_forever()
"#;

#[test]
fn a_crash_is_told_once_and_not_again_as_the_missing_answer() {
    let conversation = "[green_agent]\n[config]\nevaluator = 'conversation'\n[[config.turn]]\nto = 'a'\ntext = 'go'\n";
    let evaluator =
        "[green_agent]\nendpoint = 'http://127.0.0.1:9009'\ncmd = 'python3 mine.py 9009 asks'\n";
    for green in [conversation, evaluator] {
        let folder = Folder::new(&format!(
            "{green}[[participants]]\nrole = 'a'\nendpoint = 'http://127.0.0.1:9010'\ncmd = 'python3 mine.py 9010'\n\
             [harness]\nversion = 1\nports = 'auto'\nsnapshot = false\n"
        ));
        folder.agent(CRASHING);
        let ended = folder.run(&["run", "a.toml"]);
        assert_eq!(ended.status.code(), Some(1), "{}", shown(&ended));
        let run = folder.only_run().display().to_string();
        folder.run(&["regrade", &run, "--into", "again"]);
        for run in [folder.only_run(), folder.0.path().join("again")] {
            let told = &records(&run)[0].problems;
            let told: Vec<&str> = told.iter().map(|one| one.message.as_str()).collect();
            assert_eq!(told, ["a exited with code 7 while the evaluation ran"]);
        }
    }
}
