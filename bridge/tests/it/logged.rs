//! Tests the program's output for operators: its log as JSON, and its reports about the certificate.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use axum::response::IntoResponse as _;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::{client::Client, remote::standin::StandIn, running::output};

const LIMIT: Duration = Duration::from_secs(300);

/// The program with its log as JSON, killed when this is dropped.
struct Logging {
    child: Child,
    lines: Receiver<String>,
}

impl Logging {
    fn serve(config: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_bridge"))
            .args(["--log-format", "json", "serve", "--listen", "127.0.0.1:0"])
            .arg("--config")
            .arg(config)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in log.lines() {
                let _ = sender.send(line.unwrap());
            }
        });
        Self { child, lines }
    }

    /// Reads the log until a message begins like this, and returns all messages with their levels.
    fn until(&mut self, beginning: &str) -> Vec<(String, String)> {
        let mut told = Vec::new();
        loop {
            let line = self.lines.recv_timeout(LIMIT);
            let line = line.unwrap_or_else(|error| panic!("{error}: {beginning} after {told:?}"));
            told.push(message(&line));
            if told.last().unwrap().1.starts_with(beginning) {
                return told;
            }
        }
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().cast_signed()), signal).unwrap();
    }
}

impl Drop for Logging {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Returns the level and the message of a line.
fn message(line: &str) -> (String, String) {
    let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    assert!(line["timestamp"].is_string() && line["target"].is_string(), "{line}");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&line["level"]), text(&line["fields"]["message"]))
}

fn line(level: &str, message: &str) -> (String, String) {
    (level.to_owned(), message.to_owned())
}

const CONFIG: &str = "store = 'memory'\n[[agents]]\nname = 'a'\nbuiltin = 'echo'\n";

#[test]
fn each_line_of_a_log_in_json_is_an_object() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("bridge.toml");
    fs::write(&config, CONFIG).unwrap();
    let mut bridge = Logging::serve(&config);
    let told = bridge.until("listening on http://127.0.0.1:");
    assert_eq!(told[0], line("INFO", "agent a: open to everybody"));
    assert_eq!(told.len(), 2);
    bridge.signal(Signal::SIGHUP);
    bridge.until("the configuration was read again, agents: 1");
    fs::write(&config, "listen = 7").unwrap();
    bridge.signal(Signal::SIGHUP);
    let told = bridge.until("the previous configuration stays in use: ");
    assert_eq!(told[0].0, "ERROR");
    bridge.signal(Signal::SIGTERM);
    assert_eq!(bridge.child.wait().unwrap().code(), Some(0));
}

#[tokio::test]
async fn a_level_that_cannot_be_read_is_told() {
    let mut bridge = tokio::process::Command::new(env!("CARGO_BIN_EXE_bridge"));
    bridge.args(["--log-format", "json", "config", "schema"]).env("RUST_LOG", "bridge=verbose");
    let (code, _, log) = output(&mut bridge, LIMIT).await;
    assert_eq!(code, Some(0), "{log}");
    let (level, text) = message(log.trim());
    assert_eq!(level, "WARN");
    assert!(text.starts_with("the log has its usual level, because of RUST_LOG: "), "{text}");
}

#[tokio::test]
async fn a_bot_that_fails_or_is_silent_has_one_line_and_not_one_for_each_message() {
    let bot = StandIn::that(async |post| match post.text() {
        "nothing" => StatusCode::OK.into_response(),
        "fail" => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        text => {
            post.say(text).await;
            StatusCode::OK.into_response()
        }
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("bridge.toml");
    let agent = format!("[[agents]]\nname = 'a'\nbot = '{}'\n", bot.url);
    fs::write(&config, format!("store = 'memory'\n{agent}")).unwrap();
    let mut bridge = Logging::serve(&config);
    let told = bridge.until("listening on ");
    let client = Client::of(&told.last().unwrap().1.replace("listening on ", ""));
    for (index, text) in ["nothing", "nothing", "fail", "fail", "hi"].iter().enumerate() {
        let message =
            json!({"messageId": index.to_string(), "role": "ROLE_USER", "parts": [{"text": text}]});
        let answer = client.call("a", "SendMessage", &json!({ "message": message })).await;
        assert!(answer.unwrap()["result"]["task"].is_object());
    }
    let told = bridge.until("the calls of a bot succeed again");
    let told: Vec<_> = told
        .iter()
        .map(|(level, message)| (level.as_str(), message.split(';').next().unwrap()))
        .collect();
    let expected = [
        ("WARN", "a bot accepted a message and sent no answer"),
        ("WARN", "a call of a bot failed"),
        ("WARN", "the calls of a bot succeed again"),
    ];
    assert_eq!(told, expected);
}

/// Sets the limit of open files of a running program.
fn limit_files(program: &Child, files: u32) {
    let mut limit = Command::new("prlimit");
    limit.arg(format!("--nofile={files}:"));
    let set = limit.args(["--pid", &program.id().to_string()]).status();
    assert!(set.unwrap().success());
}

#[tokio::test]
async fn a_lack_of_open_files_is_not_taken_for_a_bot_that_is_down() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("bridge.toml");
    let agent = "[[agents]]\nname = 'a'\nbot = 'http://127.0.0.1:1/'\n";
    fs::write(&config, format!("store = 'memory'\n{agent}")).unwrap();
    let mut bridge = Logging::serve(&config);
    let told = bridge.until("listening on ");
    let url = told.last().unwrap().1.replace("listening on ", "");
    let client = Client::of(&url);
    let ask = async |id: &str| {
        let message = json!({"messageId": id, "role": "ROLE_USER", "parts": [{"text": "hi"}]});
        let answer = client.call("a", "SendMessage", &json!({ "message": message })).await;
        answer.unwrap()["result"]["task"]["status"]["message"]["parts"][0]["text"].clone()
    };
    let prefix = "The agent could not answer: ";
    let down = format!("{prefix}it cannot be reached, tried 6 times.");
    assert_eq!(ask("1").await, down);
    // The second message comes on the connection of the first.
    limit_files(&bridge.child, 3);
    let lack = format!("{prefix}the bridge has too many open connections and files.");
    assert_eq!(ask("2").await, lack);
    let _waiting = std::net::TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    bridge.until("a connection could not be accepted: raise the limit of open files");
    limit_files(&bridge.child, 1024);
    assert_eq!(
        Client::of(&url).call("a", "ListTasks", &json!({})).await.unwrap()["result"]["totalSize"],
        2
    );
}

#[tokio::test]
async fn why_the_program_cannot_serve_is_an_object_too() {
    let mut bridge = tokio::process::Command::new(env!("CARGO_BIN_EXE_bridge"));
    bridge.args(["--log-format", "json", "serve", "--config", "/nowhere.toml"]);
    let (code, _, told) = output(&mut bridge, LIMIT).await;
    assert_eq!(code, Some(3));
    let missing = "/nowhere.toml: cannot be read: No such file or directory (os error 2)";
    assert_eq!(message(&told), line("ERROR", missing));
}

#[cfg(feature = "tls")]
#[tokio::test]
async fn an_expired_certificate_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let renew = |until: i32| {
        let mut parameters = rcgen::CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        parameters.not_after = rcgen::date_time_ymd(until, 1, 1);
        let key = rcgen::KeyPair::generate().unwrap();
        let made = parameters.self_signed(&key).unwrap();
        fs::write(path("c.pem"), made.pem()).unwrap();
        fs::write(path("k.pem"), key.serialize_pem()).unwrap();
    };
    renew(2020);
    let tls = "tls = { certificate = 'c.pem', key = 'k.pem' }\n";
    fs::write(path("bridge.toml"), format!("{tls}{CONFIG}")).unwrap();
    let concern = format!(
        "the certificate {} has expired at 2020-01-01T00:00:00Z: renew it; a running bridge reads it again on SIGHUP",
        path("c.pem").display()
    );
    let mut check = tokio::process::Command::new(env!("CARGO_BIN_EXE_bridge"));
    check.args(["config", "check"]).arg(path("bridge.toml"));
    let (_, told, _) = output(&mut check, LIMIT).await;
    assert!(told.contains(&concern), "{told}");
    let mut bridge = Logging::serve(&path("bridge.toml"));
    let told = bridge.until("listening on ");
    assert!(told.contains(&line("WARN", &concern)), "{told:?}");
    let url = told.last().unwrap().1.replace("listening on ", "");
    let end = async || {
        let http = reqwest::Client::builder()
            .danger_accept_invalid_certs(true)
            .no_proxy()
            .build()
            .unwrap();
        let metrics = http.get(format!("{url}/metrics")).send().await.unwrap();
        let metrics = metrics.text().await.unwrap();
        let is_end = |line: &&str| line.starts_with("bridge_certificate_end_timestamp_seconds{");
        let ends = metrics.lines().filter(is_end);
        ends.map(|line| line.rsplit(' ').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(end().await, ["1577836800"]);
    renew(2100);
    bridge.signal(Signal::SIGHUP);
    let told = bridge.until("the configuration was read again");
    assert!(told.iter().all(|(level, _)| level == "INFO"), "{told:?}");
    assert_eq!(end().await, ["4102444800"]);
}
