//! Turns with `stream = true` for agents that do not stream.

use super::{Folder, shown};

/// It refuses streams in the way that its last argument says, and answers waiting calls.
const AGENT: &str = r#"import json, sys
from agent import Agent, server
class Waiting(Agent):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        message = {"kind": "message", "role": "agent", "messageId": "1", "parts": [{"kind": "text", "text": "hello"}]}
        code = -32601 if "unknown" in sys.argv else -32004
        streams = request["method"] == "message/stream"
        answer = {"error": {"code": code, "message": "ask me without a stream"}} if streams else {"result": message}
        self.send(200, {"jsonrpc": "2.0", "id": request["id"], **answer})
Waiting.card["capabilities"] = {"streaming": "believed" in sys.argv}
server(sys.argv[1], Waiting).serve_forever()
"#;

#[test]
fn a_turn_that_must_be_streamed_fails_if_the_agent_refuses_streams() {
    for (argument, stream, code) in
        [("honest", false, 0), ("honest", true, 1), ("believed", true, 1), ("unknown", true, 1)]
    {
        let folder = Folder::new(&format!(
            "[green_agent]\n[[participants]]\nrole = 'a'\nendpoint = 'http://127.0.0.1:9009'\n\
             cmd = 'python3 mine.py 9009 {argument}'\n\
             [config]\nevaluator = 'conversation'\n\
             [[config.turn]]\nto = 'a'\ntext = 'Hello'\ncontains = 'hello'\nstream = {stream}\n\
             [harness]\nversion = 1\nports = 'auto'\nsnapshot = false\n"
        ));
        folder.agent(AGENT);
        let ended = folder.run(&["run", "a.toml"]);
        let shown = shown(&ended);
        assert_eq!(ended.status.code(), Some(code), "{argument}: {shown}");
        let says_why = ["a: SendStreamingMessage at ", "ask me without a stream"];
        assert_eq!(says_why.iter().all(|why| shown.contains(why)), stream, "{argument}: {shown}");
    }
}
