//! The ports that programs get.

use super::{Folder, shown};

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
    let folder = Folder::new(
        "[green_agent]\n[[participants]]\nrole = 'a'\nendpoint = 'http://127.0.0.1:9009'\ncmd = 'python3 mine.py'\n\
         env = { PORT = 9009, ADMIN_PORT = 9010, LIMIT = 9009 }\n\
         [config]\nevaluator = 'conversation'\n[[config.turn]]\nto = 'a'\ntext = 'Hello'\ncontains = 'at 9010, limit 9009'\n\
         [harness]\nversion = 1\nports = 'auto'\nsnapshot = false\n",
    );
    folder.agent(AGENT);
    // Another program has the port of the file.
    let _taken = std::net::TcpListener::bind("127.0.0.1:9009");
    let ended = folder.run(&["run", "a.toml"]);
    assert_eq!(ended.status.code(), Some(0), "{}", shown(&ended));
}
