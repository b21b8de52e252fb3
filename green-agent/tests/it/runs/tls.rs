//! Agents that are reached over https, with a certificate that no public authority made.

use super::{Folder, shown};

const AGENT: &str = r#"import ssl, sys
from agent import Agent, server
Agent.scheme = "https"
encrypted = server(sys.argv[1])
tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
tls.load_cert_chain("agent.pem", "agent.key")
encrypted.socket = tls.wrap_socket(encrypted.socket, server_side=True)
encrypted.serve_forever()
"#;

#[test]
fn a_certificate_that_is_not_public_is_refused_at_once_and_accepted_when_it_is_named() {
    let folder = Folder::new(
        "[green_agent]\n[[participants]]\nrole = 'a'\ncmd = 'python3 mine.py 9009'\nendpoint = 'https://127.0.0.1:9009'\n\
         [config]\nevaluator = 'conversation'\n[[config.turn]]\nto = 'a'\ntext = 'Hello'\ncontains = 'hello'\n\
         [harness]\nversion = 1\nports = 'auto'\nsnapshot = false\ntimeout = { ready = '10m' }\n",
    );
    folder.agent(AGENT);
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    folder.file("agent.pem", &made.cert.pem());
    folder.file("agent.key", &made.signing_key.serialize_pem());

    let refused = folder.run(&["run", "a.toml"]);
    assert_eq!(refused.status.code(), Some(4), "{}", shown(&refused));
    let why = "agent never ready: the certificate of a at https://127.0.0.1:";
    assert!(shown(&refused).contains(why), "{}", shown(&refused));
    assert!(shown(&refused).contains("--ca FILE"), "{}", shown(&refused));

    let accepted = folder.run(&["run", "a.toml", "--ca", "agent.pem", "--runs", "with"]);
    assert_eq!(accepted.status.code(), Some(0), "{}", shown(&accepted));

    let absent = folder.run(&["run", "a.toml", "--ca", "nothing.pem"]);
    assert_eq!(absent.status.code(), Some(3), "{}", shown(&absent));
    assert!(shown(&absent).contains("--ca nothing.pem: No such file"));
}
