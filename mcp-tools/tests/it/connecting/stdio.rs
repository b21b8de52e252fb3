//! Tests of the client with programs that it starts.

use std::path::Path;

use mcp_tools::{
    allow_list::AllowList,
    client::{CallError, ConnectError, Connection, Lifecycle, Options},
    connection::ConnectionDetails,
};
use serde_json::json;

use super::{allowed, arguments, eventually, impatient, open, said, short, works};

fn details() -> ConnectionDetails {
    let program = crate::examples::example("stranger");
    let no_arguments = <[&str; 0]>::default();
    ConnectionDetails::stdio("stranger", program.to_str().unwrap(), no_arguments)
}

/// Returns the details of a shell script that begins a session of MCP and then does what `script` says. `answer ID MEMBER` writes a
/// response.
pub(super) fn begun_server(script: &str) -> ConnectionDetails {
    const BEGIN: &str = r#"
        answer() { echo "{\"jsonrpc\":\"2.0\",\"id\":$1,$2}"; }
        read discover; answer 0 '"error":{"code":-32601,"message":"unknown method"}'
        read initialize
        answer 1 '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"},"instructions":"look first"}'
        read initialized
    "#;
    ConnectionDetails::stdio("e", "sh", ["-c", &format!("{BEGIN}\n{script}")])
}

fn lives(pid: u64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // A zombie has ended too.
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

/// Waits for a process that the server started and that would outlive it.
async fn wait_outside(connection: &Connection) -> u64 {
    let result = connection.call("wait_outside", arguments([])).await.unwrap();
    let pid = result.structured_content.unwrap()["pid"].as_u64().unwrap();
    assert!(lives(pid));
    pid
}

#[tokio::test]
async fn both_eras_work() {
    for (lifecycle, version) in
        [(Lifecycle::Initialize, "2025-11-25"), (Lifecycle::Either, "2026-07-28")]
    {
        let options = Options { lifecycle, ..short() };
        let connection = open(&details(), &options).await;
        assert_eq!(connection.protocol_version(), version);
        works(&connection).await;
        connection.close().await;
        let error = connection.call("echo", arguments([])).await.unwrap_err();
        assert!(matches!(error, CallError::Closed { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_command_that_is_not_allowed_is_not_started() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("touched");
    let details = ConnectionDetails::stdio("e", "touch", [file.to_str().unwrap()]);
    let error = Connection::open(&details, &AllowList::default(), &short()).await.unwrap_err();
    assert!(matches!(error, ConnectError::NotAllowed(_)), "{error}");
    assert!(error.to_string().contains("allowed commands"), "{error}");
    assert!(!Path::new(&file).exists());
}

#[tokio::test]
async fn a_closed_server_takes_all_that_it_started_with_it() {
    let connection = open(&details(), &short()).await;
    let outside = wait_outside(&connection).await;
    connection.close().await;
    eventually("its end", || !lives(outside)).await;
}

#[tokio::test]
async fn a_dropped_server_takes_all_that_it_started_with_it() {
    let connection = open(&details(), &short()).await;
    let outside = wait_outside(&connection).await;
    drop(connection);
    eventually("its end", || !lives(outside)).await;
}

#[test]
fn a_runtime_that_ends_takes_its_servers_with_it() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (connection, outside) = runtime.block_on(async {
        let connection = open(&details(), &short()).await;
        let outside = wait_outside(&connection).await;
        (connection, outside)
    });
    drop(runtime);
    drop(connection);
    let limit = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while lives(outside) {
        assert!(std::time::Instant::now() < limit, "it goes on");
        std::thread::yield_now();
    }
}

#[tokio::test]
async fn a_server_that_dies_in_a_call_is_gone() {
    let connection = open(&details(), &short()).await;
    let outside = wait_outside(&connection).await;
    let error = connection.call("die", arguments([])).await.unwrap_err();
    assert!(matches!(error, CallError::Closed { .. }), "{error}");
    eventually("the end of what it started", || !lives(outside)).await;
}

#[tokio::test]
async fn a_tool_that_hangs_is_given_up_and_the_next_call_works() {
    let connection = open(&details(), &impatient()).await;
    let error = connection.call("hang", arguments([])).await.unwrap_err();
    assert!(matches!(error, CallError::TimedOut { .. }), "{error}");
    assert!(connection.call("echo", arguments([])).await.is_ok());
}

#[tokio::test]
async fn a_closed_server_that_reads_nothing_ends() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let script = format!("echo $$ > {}; exec sleep 600", file.display());
    let connection = open(&begun_server(&script), &impatient()).await;
    let large = arguments([("text", json!("x".repeat(1 << 20)))]);
    let error = connection.call("look", large).await.unwrap_err();
    assert!(matches!(error, CallError::TimedOut { .. }), "{error}");
    let pid: u64 = std::fs::read_to_string(file).unwrap().trim().parse().unwrap();
    connection.close().await;
    drop(connection);
    eventually("its end", || !lives(pid)).await;
}

#[tokio::test]
async fn too_much_is_not_taken() {
    let connection = open(&details(), &short()).await;
    let size = arguments([("bytes", json!(5000))]);
    let error = connection.call("flood", size).await.unwrap_err();
    assert!(matches!(error, CallError::TooLarge { .. }), "{error}");
}

#[tokio::test]
async fn a_tool_that_violates_the_protocol_is_named() {
    let details = begun_server(
        r#"
        list='"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}},{"name":"b"}]}'
        read first; answer 2 "$list"; read second; answer 3 "$list"; cat > /dev/null
        "#,
    );
    let error = said(open(&details, &short()).await.tools().await);
    assert_eq!(error, "tools/list: tools[1], named \"b\": missing field `inputSchema`");
}

/// Programs on the Python SDK before 1.9 and on `rmcp` before 2 end when `initialize` is not the first request.
#[tokio::test]
async fn a_program_that_ends_at_discovery_is_initialized() {
    const SERVER: &str = r#"
        answer() { echo "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":$1}"; }
        read first
        case $first in *'"initialize"'*) ;; *) exit 1 ;; esac
        answer '{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}'
        cat > /dev/null
    "#;
    let details = ConnectionDetails::stdio("e", "sh", ["-c", SERVER]);
    let connection = open(&details, &short()).await;
    assert_eq!(connection.protocol_version(), "2024-11-05");
}

#[tokio::test]
async fn a_wrong_answer_to_initialize_is_explained() {
    const SERVER: &str = r#"
        read first
        echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}'
        cat > /dev/null
    "#;
    let details = ConnectionDetails::stdio("e", "sh", ["-c", SERVER]);
    let error = said(Connection::open(&details, &allowed(), &short()).await);
    let expected = "the server's answer to initialize is no valid one: missing field `serverInfo`";
    assert!(error.ends_with(expected), "{error}");
}

#[tokio::test]
async fn programs_that_are_no_servers() {
    let mut impatient = short();
    impatient.limits.start = std::time::Duration::from_millis(500);
    let ended =
        "the program ended before it answered; what it printed to standard error may say why";
    for (command, options, expected) in [
        ("no-such-program", short(), "could not be started"),
        ("false", short(), ended),
        ("cat", impatient, "no answer within 500ms"),
    ] {
        let details = ConnectionDetails::stdio("e", command, <[&str; 0]>::default());
        let error = said(Connection::open(&details, &allowed(), &options).await);
        assert!(error.contains(expected), "{command}: {error}");
    }
}

/// Many programs print the reason of their end to standard output, and some serve HTTP unless they are told otherwise.
#[tokio::test]
async fn what_a_program_prints_instead_of_messages_is_told() {
    let mut impatient = short();
    impatient.limits.start = std::time::Duration::from_millis(500);
    for (script, options, expected) in [
        (
            "echo; echo KEY is missing; exit 1",
            short(),
            "before it answered; it printed: KEY is missing",
        ),
        (
            "echo serving at port 3000; cat > /dev/null",
            impatient,
            "within 500ms, but this: serving at port 3000",
        ),
    ] {
        let details = ConnectionDetails::stdio("e", "sh", ["-c", script]);
        let error = said(Connection::open(&details, &allowed(), &options).await);
        assert!(error.contains(expected), "{script}: {error}");
    }
}

#[tokio::test]
async fn what_a_program_prints_before_it_ends_in_a_call_is_told() {
    let details = begun_server("read call; echo fatal: out of tea");
    let error = said(open(&details, &short()).await.call("look", arguments([])).await);
    assert!(
        error.ends_with("it ended before the answer came; it printed: fatal: out of tea"),
        "{error}"
    );
}

#[tokio::test]
async fn a_content_block_of_an_unknown_kind_does_not_cost_the_others() {
    let details = begun_server(
        r#"
        read call
        answer 2 '"result":{"content":[{"type":"text","text":"here"},{"type":"json","json":{"a":1}}]}'
        cat > /dev/null
        "#,
    );
    let result = open(&details, &short()).await.call("look", arguments([])).await.unwrap();
    let texts = ["here", r#"{"json":{"a":1},"type":"json"}"#];
    assert_eq!(
        json!(result.content),
        json!(texts.map(|text| json!({"type": "text", "text": text})))
    );
}
