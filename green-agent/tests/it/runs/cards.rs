//! Agents whose cards say another address than that at which they are reached.

use super::{Folder, shown};

/// Its card says where it would be in production.
const AGENT: &str = r#"import sys
from agent import Agent, server
class Elsewhere(Agent):
    def do_GET(self): self.send(200, {**self.card, "url": "http://127.0.0.1:9/"})
server(sys.argv[1], Elsewhere).serve_forever()
"#;

/// A scenario whose agent gets another port than that of its endpoint.
const SCENARIO: &str = "[green_agent]\n[[participants]]\nrole = 'a'\nendpoint = 'http://127.0.0.1:9009'\ncmd = 'python3 mine.py 9009'\n\
     [config]\nevaluator = 'conversation'\n[[config.turn]]\nto = 'a'\ntext = 'Hello'\ncontains = 'hello'\n\
     [harness]\nversion = 1\nports = 'auto'\nsnapshot = false\n";

#[test]
fn a_card_may_say_the_port_of_the_file() {
    let folder = Folder::new(SCENARIO);
    folder.agent(&AGENT.replace("127.0.0.1:9/", "0.0.0.0:9009/"));
    let ended = folder.run(&["run", "a.toml"]);
    assert_eq!(ended.status.code(), Some(0), "{}", shown(&ended));
    assert!(!shown(&ended).contains("bypasses the recorder"), "{}", shown(&ended));
}

#[test]
fn a_card_that_leads_to_where_nothing_is_is_told_with_what_helps() {
    let folder = Folder::new(SCENARIO);
    folder.agent(AGENT);
    let astray = folder.run(&["run", "a.toml"]);
    assert_eq!(astray.status.code(), Some(1), "{}", shown(&astray));
    let told =
        "; its card says that address: with --rewrite-cards it is called where the card was found";
    assert!(shown(&astray).contains(told), "{}", shown(&astray));
    let found = folder.run(&["run", "a.toml", "--rewrite-cards"]);
    assert_eq!(found.status.code(), Some(0), "{}", shown(&found));
}
