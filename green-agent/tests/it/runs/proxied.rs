//! An agent on another machine, which is reached through the proxy that the environment names.

use super::{Folder, shown, tls::Server};

/// A proxy that answers as the agent would.
const PROXY: &str = r#"from agent import Agent, server
class Proxy(Agent):
    def do_GET(self):
        self.send(200, {**self.card, "url": "http://agent.test/"})
    def do_POST(self):
        assert self.headers["host"] == "agent.test"
        super().do_POST()
proxy = server(0, Proxy)
print(proxy.server_port, flush=True)
proxy.serve_forever()
"#;

/// What makes it a proxy of SOCKS 5: a greeting, and the name of the host.
const SOCKS: &str = r#"
    def handle(self):
        self.rfile.read(self.rfile.read(2)[1])
        self.wfile.write(b"\x05\x00")
        self.rfile.read(4)
        self.rfile.read(self.rfile.read(1)[0] + 2)
        self.wfile.write(b"\x05\x00\x00\x01" + bytes(6))
        super().handle()
proxy ="#;

#[test]
fn the_proxy_in_the_environment_leads_to_other_machines() {
    let folder = Folder::new(
        "[green_agent]\n[[participants]]\nrole = 'a'\nendpoint = 'http://agent.test'\n\
         [config]\nevaluator = 'conversation'\n[[config.turn]]\nto = 'a'\ntext = 'Hello'\ncontains = 'hello'\n\
         [harness]\nversion = 1\nsnapshot = false\n",
    );
    let socks = PROXY.replace("\nproxy =", SOCKS);
    for (scheme, proxy) in [("http", PROXY), ("socks5h", &socks)] {
        folder.agent(proxy);
        let mut proxy = Server::start(&folder);
        let address = format!("{scheme}://127.0.0.1:{}", proxy.port());
        let mut run = folder.program(&["run", "a.toml", "--runs", scheme]);
        run.env("http_proxy", address).env_remove("no_proxy").env_remove("NO_PROXY");
        let passed = run.output().unwrap();
        assert_eq!(passed.status.code(), Some(0), "{scheme}: {}", shown(&passed));
    }
}
