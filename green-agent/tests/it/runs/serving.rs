//! Tests `serving.py`, which serves the agents of frameworks as bots.

use super::{Folder, shown};

/// It keeps what belongs to the event loop of its first message, as clients of models keep connections.
const AGENT: &str = r#"import asyncio
from serving import serve
loop = None
async def answer(message):
    global loop
    loop = loop or asyncio.get_running_loop()
    kept = loop.create_future()
    loop.call_soon(kept.set_result, message.prompt)
    return "You said: " + await kept
serve(answer)
"#;

#[test]
fn all_messages_have_one_event_loop() {
    let turn = "[[config.turn]]\nto = 'a'\ntext = 'Hello'\ncontains = 'You said: Hello'\n";
    let folder = Folder::new(&format!(
        "[green_agent]\n[[participants]]\nrole = 'a'\nbot = 'http://127.0.0.1:3979/'\ncmd = 'python3 mine.py --port 3979'\n\
         [config]\nevaluator = 'conversation'\n{turn}{turn}\
         [harness]\nversion = 1\nports = 'auto'\nsnapshot = false\n"
    ));
    folder.agent(AGENT);
    folder.file("serving.py", include_str!("../../../../scenarios/frameworks/serving.py"));
    let ended = folder.run(&["run", "a.toml"]);
    assert_eq!(ended.status.code(), Some(0), "{}", shown(&ended));
}

#[test]
fn a_server_without_headers_has_empty_ones() {
    let folder = Folder::new(
        "[green_agent]\n[[participants]]\nrole = 'a'\nbot = 'http://127.0.0.1:3979/'\ncmd = 'python3 mine.py --port 3979'\n\
         [config]\nevaluator = 'conversation'\n[[config.turn]]\nto = 'a'\n\
         parts = [{ data = { mcpServers = { x = { url = 'http://127.0.0.1:1/' } } } }]\n\
         contains = \"[{'headers': {}, 'url': 'http://127.0.0.1:1/'}]\"\n\
         [harness]\nversion = 1\nports = 'auto'\nsnapshot = false\n",
    );
    folder.agent("from serving import serve\nserve(lambda message: str(message.servers))\n");
    folder.file("serving.py", include_str!("../../../../scenarios/frameworks/serving.py"));
    let ended = folder.run(&["run", "a.toml"]);
    assert_eq!(ended.status.code(), Some(0), "{}", shown(&ended));
}
