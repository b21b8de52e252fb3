//! Tasks that agents stop some time after the cancelation.

use super::{Folder, shown};

/// It answers a cancelation while it still works, and stops when it is asked for the task twice.
const AGENT: &str = r#"import json, sys
from agent import Agent, server
asked = 0
class Late(Agent):
    def do_POST(self):
        global asked
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        asked = {"message/send": 0, "tasks/cancel": 1}.get(request["method"], asked and asked + 1)
        state = "canceled" if asked > 2 else "working"
        task = {"kind": "task", "id": "t", "contextId": "c", "status": {"state": state}}
        self.send(200, {"jsonrpc": "2.0", "id": request["id"], "result": task})
server(sys.argv[1], Late).serve_forever()
"#;

#[test]
fn a_task_that_still_works_when_its_cancelation_is_answered_is_awaited() {
    let folder = Folder::new(
        "[green_agent]\n[[participants]]\nrole = 'a'\nendpoint = 'http://127.0.0.1:9009'\ncmd = 'python3 mine.py 9009'\n\
         [config]\nevaluator = 'conversation'\n\
         [[config.turn]]\nto = 'a'\ntext = 'Work'\ncancel = true\nafter = '50ms'\nstate = 'canceled'\n\
         [harness]\nversion = 1\nports = 'auto'\nsnapshot = false\n",
    );
    folder.agent(AGENT);
    let ended = folder.run(&["run", "a.toml"]);
    assert_eq!(ended.status.code(), Some(0), "{}", shown(&ended));
    let run = folder.only_run();
    let again = folder.run(&["regrade", run.to_str().unwrap(), "--into", "again"]);
    assert_eq!(again.status.code(), Some(0), "{}", shown(&again));
}
