//! Runs Debian's nginx, Apache and HAProxy with the configurations of `docs/bridge/proxies.md` in front of the program.

use std::{
    fs,
    net::TcpStream,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use bridge_client::{Binding, Client, Options, Tls};
use bridge_protocol::a2a::{
    Message, Part, Role, SendMessageRequest, SendMessageResponse, StreamResponse, TaskState,
};
use bridge_protocol::dialect::Version;
use futures_util::TryStreamExt as _;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use rcgen::{CertifiedKey, KeyPair};
use tempfile::TempDir;

use crate::{ports, program::Bridge};

const PAGE: &str = include_str!("../../../docs/bridge/proxies.md");

const PATIENCE: Duration = Duration::from_secs(300);

/// A bridge behind a proxy, which ends when this is dropped.
struct Site {
    url: String,
    folder: TempDir,
    proxy: Child,
    _bridge: Bridge,
}

impl Drop for Site {
    fn drop(&mut self) {
        // A proxy that is killed leaves its workers behind.
        let _ = kill(Pid::from_raw(self.proxy.id().cast_signed()), Signal::SIGTERM);
        let _ = self.proxy.wait();
    }
}

/// Returns the page's configuration in this language, for a proxy at `at` and a bridge at `bridge`.
fn configuration(language: &str, at: &str, bridge: &str, folder: &Path) -> String {
    let mut blocks = PAGE.split("```");
    let block = blocks.find_map(|block| block.strip_prefix(&format!("{language}\n")));
    let file = |name: &str| folder.join(name).display().to_string();
    block
        .expect("the page has it")
        // This is first, because the proxy's own address may begin with it.
        .replace("127.0.0.1:3978", bridge)
        .replace("listen 443", &format!("listen {at}"))
        .replace("*:443", at)
        .replace("bind :443", &format!("bind {at}"))
        .replace("agents.pem", &file("agents.pem"))
        .replace("agents.key", &file("agents.key"))
}

impl Site {
    /// Starts a bridge, and a proxy with what `command` makes of the folder, the proxy's address and its configuration.
    fn start(
        language: &str,
        command: impl FnOnce(&Path, &str, String) -> (String, Command),
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Workers of proxies are other users.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let CertifiedKey::<KeyPair> { cert, signing_key } = certified;
        let (cert, key) = (cert.pem(), signing_key.serialize_pem());
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("agents.pem", &format!("{cert}{key}"));
        write("agents.key", &key);
        write("roots.pem", &cert);
        let at = format!("127.0.0.1:{}", ports::unused());
        let url = format!("https://{at}");
        write(
            "bridge.toml",
            &format!(
                "store = 'memory'\npublic_url = '{url}'\ntrusted_proxies = ['127.0.0.1']\ngrpc = {{ card = true }}\n\
                 [[agents]]\nname = 'sample'\nbuiltin = 'sample'\n"
            ),
        );
        let file = folder.path().join("bridge.toml");
        let bridge = Bridge::serve(&["--config", file.to_str().unwrap()]);
        let here = bridge.url().trim_start_matches("http://");
        let text = configuration(language, &at, here, folder.path());
        let (text, mut command) = command(folder.path(), &at, text);
        write("configuration", &text);
        let output = || fs::File::create(folder.path().join("output")).unwrap();
        command.stdout(Stdio::null()).stderr(output());
        let proxy = command.spawn().expect(".ci/tools installs it from Debian");
        let site = Self { url, folder, proxy, _bridge: bridge };
        let begun = Instant::now();
        while TcpStream::connect(&at).is_err() {
            let said = || fs::read_to_string(site.folder.path().join("output"));
            assert!(begun.elapsed() < PATIENCE, "{language}: {:?}", said());
            std::thread::sleep(Duration::from_millis(20));
        }
        site
    }

    /// Speaks with the agent in every version and binding: a large message, and a stream.
    async fn check(&self) {
        let roots = fs::read(self.folder.path().join("roots.pem")).unwrap();
        let bindings = [Binding::JsonRpc, Binding::HttpJson, Binding::Grpc];
        let each = bindings.map(|binding| [(Version::V1_0, binding), (Version::V0_3, binding)]);
        for (version, binding) in each.into_iter().flatten() {
            let options = Options {
                version: Some(version),
                binding: Some(binding),
                tls: Tls::trusting(&roots).unwrap(),
                ..Options::default()
            };
            let url = self.url.parse().unwrap();
            let client = Client::connect(&url, &options).await.unwrap();
            assert_eq!(client.binding(), binding);
            let said = "long ".repeat(400_000);
            let sent = client.send_message(saying("m", &said)).await;
            let SendMessageResponse::Task(task) = sent.unwrap() else {
                panic!("{binding:?}: no task");
            };
            assert_eq!(task.status.state, TaskState::Completed);
            let streamed = client.send_streaming_message(saying("s", "hi")).await;
            let streamed: Vec<_> = streamed.unwrap().try_collect().await.unwrap();
            let Some(StreamResponse::StatusUpdate(last)) = streamed.last() else {
                panic!("{binding:?}: {streamed:?}");
            };
            assert_eq!(last.status.state, TaskState::Completed);
        }
    }
}

fn saying(id: &str, text: &str) -> SendMessageRequest {
    let id = format!("{id}-{}", bridge_client::new_message_id());
    SendMessageRequest::new(Message::new(id, Role::User, vec![Part::text(text)]))
}

#[tokio::test(flavor = "multi_thread")]
async fn nginx_serves_every_binding() {
    let site = Site::start("nginx", |folder, _, text| {
        let own = folder.display();
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path {own}/{name};\n"))
            .concat();
        let text = format!(
            "daemon off;\npid {own}/pid;\nerror_log stderr;\nevents {{}}\nhttp {{\naccess_log off;\n{temporary}{text}}}\n"
        );
        let mut command = Command::new("/usr/sbin/nginx");
        command.arg("-p").arg(folder).arg("-c").arg(folder.join("configuration"));
        command.args(["-e", "stderr"]);
        (text, command)
    });
    site.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn apache_serves_every_binding() {
    let site = Site::start("apache", |folder, at, text| {
        let modules = [
            "mpm_event",
            "authz_core",
            "proxy",
            "proxy_http",
            "proxy_http2",
            "http2",
            "ssl",
            "socache_shmcb",
        ];
        let modules = modules.map(|name| {
            format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n")
        });
        let own = folder.display();
        let text = format!(
            "ServerRoot {own}\nPidFile {own}/pid\nErrorLog {own}/output\nDefaultRuntimeDir {own}\nListen {at}\n\
             ServerName 127.0.0.1\nUser www-data\nGroup www-data\n{}{text}",
            modules.concat()
        );
        let mut command = Command::new("/usr/sbin/apache2");
        command.arg("-f").arg(folder.join("configuration")).arg("-DFOREGROUND");
        (text, command)
    });
    site.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn haproxy_serves_every_binding() {
    let site = Site::start("haproxy", |folder, _, text| {
        let mut command = Command::new("/usr/sbin/haproxy");
        command.arg("-f").arg(folder.join("configuration"));
        (text, command)
    });
    site.check().await;
}
