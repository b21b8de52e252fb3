//! Tests the exit codes and messages of commands that cannot do their work, most of them of `bridge serve`.

use std::time::Duration;

use tokio::{
    process::Command,
    time::{sleep, timeout},
};

use crate::{program::Bridge, running};

const LIMIT: Duration = Duration::from_secs(300);

/// Ends with this code and says this.
async fn ends(arguments: &[&str], expected: i32, words: &str) {
    command_ends(&[&["serve"][..], arguments].concat(), expected, words).await;
}

async fn command_ends(arguments: &[&str], expected: i32, words: &str) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bridge"));
    command.args(arguments);
    let (code, _, errors) = running::output(&mut command, LIMIT).await;
    assert_eq!(code, Some(expected), "{arguments:?}: {errors}");
    assert!(errors.contains(words), "{arguments:?}: {errors}");
}

#[tokio::test]
async fn a_missing_store_is_exit_code_4_and_an_unreadable_file_3() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("sled:{}", folder.path().join("tasks").display());
    let bridge = Bridge::serve(&["--store", &store]);
    let taken = bridge.url().trim_start_matches("http://");
    let anywhere = ["--listen", "127.0.0.1:0"];
    let in_use = [&anywhere[..], &["--store", &store]].concat();
    ends(&in_use, 4, "is another bridge using it?").await;
    let words = "another program listens there: choose another address with --listen";
    ends(&["--listen", taken, "--store", "memory"], 4, words).await;
    let grpc = [&anywhere[..], &["--store", "memory", "--grpc-listen", taken]].concat();
    ends(&grpc, 4, "choose another address with --grpc-listen").await;
    let missing = folder.path().join("bridge.toml");
    let missing = missing.to_str().unwrap();
    ends(&["--config", missing], 3, "bridge.toml: cannot be read").await;
    std::fs::write(missing, b"# one\n# caf\xe9\n").unwrap();
    ends(&["--config", missing], 3, "bridge.toml:2:6: cannot be read: the byte 0xe9").await;
    let push = ["registry", "push", "no-card.json", "localhost:1/agents/plan:v1"];
    command_ends(&push, 3, "no-card.json: ").await;
    command_ends(&["discover", "--ca", "no.pem", bridge.url()], 3, "--ca no.pem: ").await;
    command_ends(&["discover", "--ca", "no.pem", "oci://localhost:1"], 3, "--ca no.pem: ").await;
    let card = "[[agents]]\nname = 'a'\nbuiltin = 'echo'\ncard_file = 'no-card.json'\n";
    std::fs::write(missing, card).unwrap();
    ends(
        &[&anywhere[..], &["--store", "memory", "--config", missing]].concat(),
        3,
        "no-card.json: ",
    )
    .await;
    command_ends(&["config", "check", missing], 3, "no-card.json: ").await;
    let encrypted =
        "[[agents]]\nname = 'a'\nbuiltin = 'echo'\n[tls]\ncertificate = 'no.pem'\nkey = 'no.pem'\n";
    std::fs::write(missing, encrypted).unwrap();
    let memory = [&anywhere[..], &["--store", "memory", "--config", missing]].concat();
    ends(&memory, 3, "no.pem: expected a certificate in PEM").await;
    command_ends(&["config", "check", missing], 3, "no.pem: expected a certificate in PEM").await;
    std::fs::write(missing, "agents = 7").unwrap();
    ends(&["--config", missing], 1, "agents").await;
}

#[tokio::test]
async fn agents_that_cannot_be_hosted_are_not_announced() {
    let same = ["serve", "--store", "memory", "--listen", "127.0.0.1:0"];
    let bots = ["--bot", "a=http://127.0.0.1:9/", "--bot", "a=http://127.0.0.1:8/"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_bridge"));
    command.args(same).args(bots);
    let (code, printed, errors) = running::output(&mut command, LIMIT).await;
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains("two agents have the name \"a\""), "{errors}");
    for text in [printed, errors] {
        assert!(!text.contains("open to everybody"), "{text}");
    }
}

#[tokio::test]
async fn a_command_that_needs_a_stored_store_refuses_memory_as_a_wrong_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().to_str().unwrap();
    let new = folder.path().join("copy");
    for (command, words) in [
        (&["store", "check"][..], "a store in memory is gone"),
        (&["store", "compact"], "expected sled:FOLDER, found memory"),
        (&["store", "turn-keys"], "a store in memory is gone"),
        (&["store", "backup", new.to_str().unwrap()], "a store in memory is gone"),
        (&["store", "restore", copy], "expected sled:FOLDER, found memory"),
        (&["push", "list"], "a store in memory is gone"),
        (&["tasks", "list"], "memory has no folder for a socket"),
    ] {
        command_ends(&[command, &["--store", "memory"]].concat(), 2, words).await;
    }
}

#[tokio::test]
async fn a_token_that_the_doctor_does_not_get_has_the_exit_code_of_its_cause() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bridge.toml");
    let auth = "app_id = 'a'\nclient_id = 'c'\ntoken_endpoint = 'http://127.0.0.1:1/token'\n";
    for (auth, code, words) in [
        (
            format!("auth.client_secret]\nsecret = {{ env = 'PATH' }}\n{auth}"),
            4,
            "cannot be reached",
        ),
        (format!("auth.federated]\nassertion.file = 'no.jwt'\n{auth}"), 3, "the assertion in"),
    ] {
        let agent = format!("[[agents]]\nname = 'a'\nbot = 'http://127.0.0.1:1/'\n[agents.{auth}");
        std::fs::write(&file, agent).unwrap();
        command_ends(&["doctor", "--config", file.to_str().unwrap()], code, words).await;
    }
}

#[tokio::test]
async fn an_address_that_does_not_lead_to_an_agent_is_explained() {
    let bridge = Bridge::serve(&["--store", "memory"]);
    let https = format!("{}/a2a", bridge.url().replace("http:", "https:"));
    let words = "InvalidContentType: it does not answer with TLS, so its address begins with http:";
    for command in [&["chat", "-m", "hi"][..], &["discover"], &["doctor"]] {
        let words = if command == ["doctor"] { "are scheme and port right?" } else { words };
        command_ends(&[command, &[https.as_str()]].concat(), 4, words).await;
    }
    command_ends(&["doctor", "http://127.0.0.1:1/"], 4, "is it running").await;
}

#[tokio::test]
async fn ctrl_c_ends_a_bridge_that_is_already_stopping() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bridge.toml");
    std::fs::write(&file, "[drain]\nnotice = '3600s'\n[[agents]]\nname = 'a'\nbuiltin = 'echo'\n")
        .unwrap();
    let mut bridge = Bridge::serve(&["--store", "memory", "--config", file.to_str().unwrap()]);
    bridge.terminate();
    let ready = async || {
        let answer = reqwest::get(format!("{}/readyz", bridge.url())).await;
        answer.unwrap().status().is_success()
    };
    while ready().await {
        sleep(Duration::from_millis(10)).await;
    }
    bridge.terminate();
    assert!(!ready().await);
    // It may not listen for a further signal yet.
    let ends = async {
        loop {
            bridge.interrupt();
            if let Ok(code) = timeout(Duration::from_millis(100), bridge.ended()).await {
                return code;
            }
        }
    };
    assert_eq!(timeout(LIMIT, ends).await.expect("it ends"), Some(4));
}

#[tokio::test]
async fn options_that_an_address_does_not_use_are_refused() {
    for (arguments, words) in [
        (&["oci://localhost:1", "--bearer-env", "PATH"][..], "use --registry-user NAME"),
        (&["oci://localhost:1", "--header-env", "A=PATH"], "use --registry-user NAME"),
        (&["oci://localhost:1", "--follow"], "--follow is for agents"),
        (
            &["localhost:1", "--registry-user", "me", "--registry-password-env", "PATH"],
            "--registry-user is for a registry",
        ),
    ] {
        command_ends(&[&["discover"], arguments].concat(), 2, words).await;
    }
}

#[tokio::test]
async fn a_secret_that_is_not_there_is_a_mistake_of_the_command_line() {
    for command in [&["chat", "-m", "hi"][..], &["discover"], &["check"]] {
        let arguments = [command, &["--bearer-env", "NO_SUCH", "http://127.0.0.1:1"]].concat();
        command_ends(&arguments, 2, "in the environment variable NO_SUCH").await;
    }
}

/// Nobody, not even root, may make a folder in `/sys`.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_folder_that_cannot_be_made_is_named_with_advice() {
    let arguments = ["--listen", "127.0.0.1:0", "--store", "sled:/sys/bridge-data"];
    let words = "making /sys/bridge-data (name a folder in which the bridge's user may write): ";
    ends(&arguments, 4, words).await;
    command_ends(&["init", "/sys/agent"], 4, "cannot make the folder /sys/agent: ").await;
}

/// A small limit of memory stands for a limit of threads, which root does not have. The stacks are so large that there is
/// memory for everything else when there is none for another stack.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn too_few_threads_are_explained() {
    let mut command = Command::new("sh");
    let limited = "ulimit -v 1500000; exec \"$0\" serve --listen 127.0.0.1:0 --store memory";
    command.args(["-c", limited, env!("CARGO_BIN_EXE_bridge")]);
    command.env("TOKIO_WORKER_THREADS", "100").env("RUST_MIN_STACK", (256 << 20).to_string());
    let (code, _, errors) = running::output(&mut command, LIMIT).await;
    assert_eq!(code, Some(4), "{errors}");
    assert!(
        errors.starts_with("error: the system allows this user or container too few threads"),
        "{errors}"
    );
}

#[cfg(feature = "postgres")]
#[tokio::test]
async fn a_database_that_is_not_there_is_exit_code_4() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("postgres:///d?host={}&user=me", folder.path().display());
    let arguments = ["--listen", "127.0.0.1:0", "--store", &url];
    ends(&arguments, 4, "the store is not available: postgres://me@").await;
}
