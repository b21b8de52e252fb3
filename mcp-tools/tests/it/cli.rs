//! Tests of the program `mcp-tools`.

use std::time::Duration;

use serde_json::Value;
use url::Url;

use crate::program::{Listening, example, mcp_tools, output};

const LIMIT: Duration = Duration::from_secs(120);

/// Serves an episode; returns the program, its URL and its token.
async fn serve(arguments: &[&str]) -> (Listening, String, String) {
    let all = [&["serve"], arguments].concat();
    let mut served = Listening::start(&mut mcp_tools(&all)).await;
    let details = served.printed().await;
    let server = &details["mcpServers"]["environment"];
    let token = server["headers"]["Authorization"].as_str().unwrap();
    let token = token.strip_prefix("Bearer ").unwrap().to_owned();
    let url = server["url"].as_str().unwrap().to_owned();
    assert_eq!(url, format!("{}/mcp", served.url));
    (served, url, token)
}

/// Runs a command with a token; returns its exit code, its output and its errors.
async fn said(token: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    output(mcp_tools(arguments).env("MCP_TOKEN", token), LIMIT).await
}

#[tokio::test]
async fn an_episode_is_served_listed_called_and_submitted() {
    let (served, url, token) = serve(&["--environment", "sum", "--seed", "3"]).await;
    let (code, listed, _) = said(&token, &["list", "--url", &url]).await;
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!((code, &listed["tools"][1]["name"]), (Some(0), &Value::from("submit")));

    let (code, shown, _) = said(&token, &["call", "--url", &url, "list_numbers"]).await;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let numbers = shown["structuredContent"]["numbers"].as_array().unwrap();
    let sum: u64 = numbers.iter().filter_map(Value::as_u64).sum();
    assert_eq!(code, Some(0));

    let answer = format!("answer={sum}");
    let relay = format!("{} relay --url {url}", env!("CARGO_BIN_EXE_mcp-tools"));
    let (code, _, errors) = said(&token, &["call", "--command", &relay, "submit", &answer]).await;
    assert_eq!(code, Some(0), "{errors}");
    let (code, outcome) = served.ended().await;
    let outcome: Value = serde_json::from_str(&outcome).unwrap();
    assert_eq!((code, &outcome["outcome"]["ended"]), (Some(0), &Value::from("submitted")));
}

#[tokio::test]
async fn a_goal_that_was_not_reached_is_exit_code_1() {
    let (served, url, token) = serve(&["--environment", "sum", "--time", "1m"]).await;
    let (code, _, _) = said(&token, &["call", "--url", &url, "list_numbers", "x=1"]).await;
    assert_eq!(code, Some(1));
    said(&token, &["call", "--url", &url, "submit", "answer=no idea"]).await;
    assert_eq!(served.ended().await.0, Some(1));
}

#[tokio::test]
async fn a_signal_ends_it_in_good_order() {
    let (served, ..) = serve(&["--environment", "shop"]).await;
    served.terminate();
    let (code, outcome) = served.ended().await;
    let outcome: Value = serde_json::from_str(&outcome).unwrap();
    assert_eq!((code, &outcome["outcome"]["ended"]), (Some(0), &Value::from("closed")));
}

#[tokio::test]
async fn flags_of_what_is_not_served_are_refused() {
    let environment = ["--environment", "sum"];
    let tools = ["--tools", "a2a"];
    let command = ["--command", "nothing"];
    for (served, flag) in [
        (environment, "--stdio"),
        (command, "--stdio"),
        (environment, "--allow-private"),
        (tools, "--seed=7"),
        (command, "--time=1m"),
        (tools, "--pass-env=KEY"),
    ] {
        let (code, _, errors) = said("", &[&["serve", flag], &served[..]].concat()).await;
        assert_eq!(code, Some(2), "{served:?} {flag}: {errors}");
        assert!(errors.contains(&format!("cannot be used with '{}", served[0])), "{errors}");
    }
}

#[tokio::test]
async fn a_wrong_token_is_reported_and_never_shown() {
    let (_served, url, _) = serve(&["--environment", "sum"]).await;
    for command in ["list", "relay"] {
        let (code, _, errors) = said("not-the-token", &[command, "--url", &url]).await;
        assert_eq!(code, Some(4));
        assert!(errors.contains("unauthorized") && !errors.contains("not-the-token"), "{errors}");
    }
    // Clients on the SDK for TypeScript then register for a sign-in, and show only the error of that.
    let register = Url::parse(&url).unwrap().join("/register").unwrap();
    let answer = reqwest::Client::new().post(register).body("{}").send().await.unwrap();
    let error: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
    assert_eq!(error["error"], "access_denied");
    assert!(error["error_description"].as_str().unwrap().contains("send the bearer token"));
}

#[tokio::test]
async fn a_relay_reaches_this_machine_only() {
    let (code, _, errors) = said("", &["relay", "--url", "http://192.0.2.1/mcp"]).await;
    assert_eq!(code, Some(4));
    assert!(errors.contains("refused to connect to host \"192.0.2.1\""), "{errors}");
}

#[tokio::test]
async fn tools_are_served_over_both_transports_with_a_token() {
    let mut command = mcp_tools(&["serve", "--tools", "a2a"]);
    let mut served = Listening::start(&mut command).await;
    let details = served.printed().await;
    let server = &details["mcpServers"]["tools"];
    let token = server["headers"]["Authorization"].as_str().unwrap();
    let token = token.strip_prefix("Bearer ").unwrap().to_owned();
    let url = server["url"].as_str().unwrap();
    let over_stdio = format!("{} serve --tools a2a --stdio", env!("CARGO_BIN_EXE_mcp-tools"));
    for target in [["--url", url], ["--command", &over_stdio]] {
        let (code, listed, errors) = said(&token, &[&["list"], &target[..]].concat()).await;
        let listed: Value = serde_json::from_str(&listed).unwrap_or_else(|_| panic!("{errors}"));
        let names = &listed["tools"][0]["name"];
        assert_eq!((code, names), (Some(0), &Value::from("discover_a2a_agent_capabilities")));
    }
    let nowhere = url.replace("/mcp", "/elsewhere");
    for (token, url, expected) in [
        ("another", url, "the server did not accept the token"),
        ("", url, "put it into the environment variable MCP_TOKEN"),
        (
            &*token,
            &*nowhere,
            "HTTP 404 Not Found; check the path of the URL: most servers are at /mcp\n",
        ),
    ] {
        let (code, _, errors) = said(token, &["list", "--url", url]).await;
        assert_eq!(code, Some(4), "{errors}");
        assert!(errors.contains(expected), "{errors}");
    }
    for (variable, code, expected) in [
        ("Authorization=KEY", 0, ""),
        ("X-Other=KEY", 4, "the server requires a token"),
        ("Authorization=UNSET_KEY", 2, "--header-env: UNSET_KEY is not set"),
        ("Host=KEY", 4, "Host"),
        ("KEY", 2, "such as X-API-Key=MY_KEY"),
    ] {
        let mut list = mcp_tools(&["list", "--url", url, "--header-env", variable]);
        let (ended, _, errors) = output(list.env("KEY", format!("Bearer {token}")), LIMIT).await;
        assert_eq!(ended, Some(code), "{variable}: {errors}");
        assert!(errors.contains(expected) && !errors.contains(&token), "{variable}: {errors}");
    }
    served.terminate();
    assert_eq!(served.ended().await.0, Some(0));
}

#[tokio::test]
async fn a_program_is_served_to_all_clients_until_it_ends() {
    let program = example("stranger");
    let (served, url, token) = serve(&["--command", program.to_str().unwrap()]).await;
    let call = async |tool| said(&token, &["call", "--url", &url, tool]).await;
    assert_eq!(call("change").await.0, Some(0));
    let (code, listed, errors) = said(&token, &["list", "--url", &url]).await;
    assert_eq!(code, Some(0), "{errors}");
    assert!(listed.contains("further_0"), "{listed}");
    let (code, _, errors) = call("die").await;
    assert_eq!(code, Some(4));
    assert!(errors.contains("the connection is closed"), "{errors}");
    assert_eq!(served.ended().await.0, Some(4));
}

#[tokio::test]
async fn serving_stops_while_its_program_starts() {
    let folder = tempfile::tempdir().unwrap();
    let started = folder.path().join("started");
    let line = format!("sh -c 'echo > {}; exec sleep 600'", started.display());
    let mut serving = mcp_tools(&["serve", "--command", &line]).spawn().unwrap();
    while !started.exists() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let id = nix::unistd::Pid::from_raw(serving.id().unwrap().try_into().unwrap());
    nix::sys::signal::kill(id, nix::sys::signal::SIGTERM).unwrap();
    let ended = tokio::time::timeout(LIMIT, serving.wait()).await.unwrap();
    assert_eq!(ended.unwrap().code(), Some(0));
}

/// Returns whether a process handles SIGTERM, which is signal 15.
#[cfg(target_os = "linux")]
fn handles_sigterm(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|caught| u64::from_str_radix(caught.trim(), 16).ok());
    caught.is_some_and(|caught| caught & (1 << 14) != 0)
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn serving_over_standard_streams_stops_before_a_client_has_begun() {
    let mut command = mcp_tools(&["serve", "--tools", "a2a", "--stdio"]);
    let mut serving = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    // Waiting for the end closes the input, which is an error before a client has begun.
    let _input = serving.stdin.take();
    while !handles_sigterm(serving.id().unwrap()) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let id = nix::unistd::Pid::from_raw(serving.id().unwrap().try_into().unwrap());
    nix::sys::signal::kill(id, nix::sys::signal::SIGTERM).unwrap();
    let ended = tokio::time::timeout(LIMIT, serving.wait()).await.unwrap();
    assert_eq!(ended.unwrap().code(), Some(0));
}

#[tokio::test]
async fn the_end_of_a_served_program_is_noticed_without_a_call() {
    let dir = tempfile::tempdir().unwrap();
    let end = dir.path().join("end");
    assert!(std::process::Command::new("mkfifo").arg(&end).status().unwrap().success());
    let (end, program) = (end.display(), example("stranger"));
    let line = format!("sh -c '(read _ < {end}; kill -9 $$) & exec {}'", program.display());
    let (served, url, token) = serve(&["--command", &line]).await;
    let (code, _, errors) = said(&token, &["list", "--url", &url]).await;
    assert_eq!(code, Some(0), "{errors}");
    tokio::fs::write(end.to_string(), "\n").await.unwrap();
    assert_eq!(served.ended().await.0, Some(4));
}

#[tokio::test]
async fn a_program_gets_only_the_variables_that_are_named() {
    let program = "sh -c 'echo \"got:$API_KEY:$SSL_CERT_FILE\" >&2'";
    let list = ["list", "--command", program];
    let mut without = mcp_tools(&list);
    let certificates = without.env("API_KEY", "seven").env("SSL_CERT_FILE", "/company.pem");
    let (_, _, errors) = output(certificates, LIMIT).await;
    assert!(errors.starts_with("got::/company.pem\n"), "{errors}");
    let passed = [&list[..], &["--pass-env", "API_KEY"]].concat();
    let (_, _, errors) = output(mcp_tools(&passed).env("API_KEY", "seven"), LIMIT).await;
    assert!(errors.starts_with("got:seven:"), "{errors}");
    let (code, _, errors) = output(mcp_tools(&passed).env_remove("API_KEY"), LIMIT).await;
    assert_eq!(code, Some(2));
    assert!(errors.contains("--pass-env: API_KEY is not set"), "{errors}");
}

#[tokio::test]
async fn tools_that_cannot_be_served_are_reported() {
    let empty = tempfile::NamedTempFile::new().unwrap();
    let empty = empty.path().to_str().unwrap();
    let cases: [(&[&str], i32, &str); 8] = [
        (&["web-search"], 2, "name an index of sites with --sites"),
        (&["web-search", "--sites", "/nowhere.toml"], 3, "cannot be read"),
        (&["web-search", "--sites", empty], 3, "is not valid"),
        (&["a2a", "--credential", "club.example"], 2, "--credential: expected HOST=VARIABLE"),
        (
            &["a2a", "--credential", "club.example=NO_SUCH_VARIABLE_7"],
            2,
            "NO_SUCH_VARIABLE_7 is not set",
        ),
        (&["a2a", "--sites", empty], 2, "--sites is for the tools web-search: add web-search"),
        (&["a2a", "--searxng", "http://127.0.0.1:1"], 2, "--searxng is for the tools web-search"),
        (
            &["web-search", "--searxng", "http://127.0.0.1:1", "--allow-private"],
            2,
            "--allow-private is for the tools a2a: add a2a to --tools",
        ),
    ];
    for (arguments, expected_code, expected) in cases {
        let (code, _, errors) = said("", &[&["serve", "--tools"], arguments].concat()).await;
        assert_eq!(code, Some(expected_code), "{arguments:?}: {errors}");
        assert!(errors.contains(expected), "{errors}");
    }
}

#[tokio::test]
async fn a_wrong_command_line_is_exit_code_2() {
    let url = ["--url", "http://127.0.0.1:1/mcp"];
    let cases: [&[&str]; 16] = [
        &["serve", "--environment", "sum", "--tools", "a2a"],
        &["serve", "--command", "cat", "--tools", "a2a"],
        &["serve", "--environment", "sum", "--pass-env", "PATH"],
        &["serve", "--tools", "casino"],
        &["serve", "--tools", "a2a", "--stand-in", "club.example"],
        &["serve"],
        &["serve", "--environment", "casino"],
        &["serve", "--environment", "sum", "--time", "soon"],
        &["call", "--url", "http://127.0.0.1:1/mcp", "tool", "value"],
        &["list"],
        &["list", "--command", ""],
        &["serve", "--command", " "],
        &["list", "--command", "true", "--pass-env", "NO_SUCH_VARIABLE_7"],
        &["list", "--command", "true", "--header-env", "X-Key=PATH"],
        &["list", url[0], url[1], "--pass-env", "PATH"],
        &["call", url[0], url[1], "tool", "a=1", "a=2"],
    ];
    for arguments in cases {
        assert_eq!(said("", arguments).await.0, Some(2), "{arguments:?}");
    }
}

#[test]
fn every_help_wraps_evenly() {
    crate::command_line::helps_wrap_evenly(env!("CARGO_BIN_EXE_mcp-tools"));
}

/// The server's library logs the end of a connection as an error; only the program's own message may appear.
#[tokio::test]
async fn an_error_is_printed_once_by_the_program() {
    for arguments in [
        ["list", "--command", "false"],
        ["list", "--command", "true"],
        ["list", "--url", "http://127.0.0.1:1/mcp"],
        ["relay", "--url", "http://127.0.0.1:1/mcp"],
    ] {
        let (code, _, errors) = said("", &arguments).await;
        assert_eq!(code, Some(4), "{arguments:?}: {errors}");
        let lines: Vec<&str> = errors.lines().collect();
        assert!(lines.len() == 1 && lines[0].starts_with("error: "), "{arguments:?}: {errors}");
    }
}

#[tokio::test]
async fn a_reader_that_leaves_ends_every_command_quietly() {
    let (_served, url, token) = serve(&["--environment", "sum"]).await;
    let url = url.as_str();
    let commands: [&[&str]; 3] =
        [&["--help"], &["list", "--url", url], &["call", "--url", url, "list_numbers"]];
    for arguments in commands {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_mcp-tools"));
        command.args(arguments).env("MCP_TOKEN", &token);
        let ended =
            tokio::task::spawn_blocking(move || crate::command_line::ends_quietly(&mut command));
        ended.await.unwrap();
    }
}

/// Runs the command in the README with a free port: it must serve, and find its files.
#[tokio::test]
async fn the_line_of_the_readme_serves_as_printed() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let readme = std::fs::read_to_string(root.join("mcp-tools/README.md")).unwrap();
    let mut lines =
        readme.lines().filter_map(|line| line.strip_prefix("$ CLUB_TOKEN=secret mcp-tools "));
    let line = lines.find(|line| line.contains("--credential")).unwrap();
    let arguments = shlex::split(line).unwrap();
    let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    arguments.extend(["--listen", "127.0.0.1:0"]);
    let mut command = mcp_tools(&arguments);
    let mut served = Listening::start(command.current_dir(&root).env("CLUB_TOKEN", "secret")).await;
    assert!(served.printed().await["mcpServers"]["tools"]["url"].is_string());
    served.terminate();
    assert_eq!(served.ended().await.0, Some(0));

    let (code, _, errors) =
        output(mcp_tools(&arguments).current_dir(&root).env_remove("CLUB_TOKEN"), LIMIT).await;
    assert_eq!(code, Some(2));
    assert!(errors.contains("CLUB_TOKEN is not set"), "{errors}");
}
