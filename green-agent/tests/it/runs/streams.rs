//! Turns with `stream = true` for agents that do not stream, or whose streams break.

use super::{Folder, shown};

/// It refuses streams in the way that its last argument says, or breaks them off, and answers other calls.
const AGENT: &str = r#"import json, sys
from agent import Agent, server
class Waiting(Agent):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if request["method"] == "message/stream" and "broken" in sys.argv:
            task = {"kind": "task", "id": "t", "contextId": "c", "status": {"state": "working"}}
            event = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": task})
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            self.wfile.write(f"data: {event}\n\n".encode())
            return
        message = {"kind": "message", "role": "agent", "messageId": "1", "parts": [{"kind": "text", "text": "hello"}]}
        code = -32601 if "unknown" in sys.argv else -32004
        task = {"kind": "task", "id": "t", "contextId": "c", "status": {"state": "completed", "message": message}}
        streams = request["method"] in ("message/stream", "tasks/resubscribe")
        answered = task if request["method"] == "tasks/get" else message
        answer = {"error": {"code": code, "message": "ask me without a stream"}} if streams else {"result": answered}
        self.send(200, {"jsonrpc": "2.0", "id": request["id"], **answer})
Waiting.card["capabilities"] = {"streaming": sys.argv[2] in ("believed", "broken")}
server(sys.argv[1], Waiting).serve_forever()
"#;

#[test]
fn a_scripted_stream_may_break_but_not_be_refused() {
    for (argument, stream, code) in [
        ("honest", false, 0),
        ("honest", true, 1),
        ("believed", true, 1),
        ("unknown", true, 1),
        ("broken", true, 0),
    ] {
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
        assert_eq!(
            says_why.iter().all(|why| shown.contains(why)),
            code == 1,
            "{argument}: {shown}"
        );
    }
}
