//! The program is stopped for a while, as schedulers do that suspend a job, and terminals with Ctrl-Z.

use std::process::Stdio;

use super::{Folder, shown};

/// It stops the program that evaluates it for longer than a trial may take, and answers some time after the program continues.
const AGENT: &str = r#"import os, signal, sys, time
from agent import Agent, server
class Stopping(Agent):
    def answer(self):
        while not os.path.exists("evaluator.pid"):
            time.sleep(0.05)
        evaluator = int(open("evaluator.pid").read())
        os.kill(evaluator, signal.SIGSTOP)
        time.sleep(7)
        os.kill(evaluator, signal.SIGCONT)
        time.sleep(0.5)
        return "hello"
server(sys.argv[1], Stopping).serve_forever()
"#;

#[test]
fn the_time_in_which_the_evaluator_was_stopped_is_not_the_agents_fault() {
    let folder = Folder::new(
        "[green_agent]\n[[participants]]\nrole = 'a'\nendpoint = 'http://127.0.0.1:9009'\ncmd = 'python3 mine.py 9009'\n\
         [config]\nevaluator = 'conversation'\n[[config.turn]]\nto = 'a'\ntext = 'Hello'\ncontains = 'hello'\n\
         [harness]\nversion = 1\nports = 'auto'\nsnapshot = false\ntimeout = { idle = '6s', total = '6s' }\n",
    );
    folder.agent(AGENT);
    let mut program = folder.program(&["run", "a.toml"]);
    let running = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    folder.file("evaluator.new", &running.id().to_string());
    let path = |name: &str| folder.0.path().join(name);
    std::fs::rename(path("evaluator.new"), path("evaluator.pid")).unwrap();
    let ended = running.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{}", shown(&ended));
}
