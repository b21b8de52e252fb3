//! Tests the dependencies between modules inside the packages, as ARCHITECTURE.md draws them: each module
//! uses only those below it. The test is here because this package depends on all others.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Each module with the modules that it may use.
type Modules = &'static [(&'static str, &'static [&'static str])];

/// The packages, by their names in code, with their modules.
const PACKAGES: [(&str, &str, Modules); 16] = [
    ("bridge/protocol", "bridge_protocol", PROTOCOL),
    ("bridge/verify", "bridge_verify", VERIFY),
    ("bridge/program", "bridge_program", PROGRAM),
    ("bridge/telemetry", "bridge_telemetry", TELEMETRY),
    ("bridge/client", "bridge_client", CLIENT),
    ("bridge/orchestration", "bridge_orchestration", ORCHESTRATION),
    ("bridge/store", "bridge_store", STORE),
    ("bridge/postgres", "bridge_postgres", POSTGRES),
    ("bridge/tasks", "bridge_tasks", TASKS),
    ("bridge/bots", "bridge_bots", BOTS),
    ("bridge/server", "bridge_server", SERVER),
    ("bridge", "bridge", BRIDGE),
    ("mcp-tools", "mcp_tools", MCP_TOOLS),
    ("purple-agent", "purple_agent", PURPLE),
    ("green-agent", "green_agent", GREEN),
    ("green-agent/results", "green_agent_results", RESULTS),
];

const PROTOCOL: Modules = &[
    ("wire", &[]),
    ("a2a", &["wire"]),
    ("activity", &["wire"]),
    ("sse", &[]),
    ("address", &[]),
    ("jose", &[]),
    ("signing", &["a2a", "jose", "wire"]),
    ("jsonrpc", &["a2a", "wire"]),
    // Agents with plain skills use JSON-RPC only.
    ("dialect", &["a2a", "jsonrpc", "wire"]),
    ("protobuf", &["a2a", "dialect", "jsonrpc", "wire"]),
];

const VERIFY: Modules = &[("lint", &[]), ("schema", &[]), ("signature", &[])];

const PROGRAM: Modules = &[
    ("causes", &[]),
    ("clock", &["lock"]),
    ("exit", &["terminal"]),
    ("header_flag", &[]),
    ("invalid_http", &["causes"]),
    ("json", &[]),
    ("supervisor", &["terminal"]),
    ("log", &["clock", "terminal"]),
    ("lock", &[]),
    ("log_interval", &["lock"]),
    ("path", &["system"]),
    ("secret", &[]),
    ("serve", &["clock", "lock", "system"]),
    ("runtime", &["exit", "terminal"]),
    ("shell", &[]),
    ("split_mix", &[]),
    ("stop", &["serve", "system"]),
    ("system", &["causes"]),
    ("terminal", &[]),
];

const TELEMETRY: Modules = &[("absent", &[]), ("context", &[]), ("otlp", &[]), ("span", &[])];

const ORCHESTRATION: Modules = &[("agents", &[]), ("pipeline", &[])];

const CLIENT: Modules = &[
    ("message_id", &[]),
    ("invocation", &["client", "connect", "discovery", "error", "http", "options", "sequence"]),
    ("registry", &["credentials", "discovery", "error"]),
    (
        "discovery",
        &[
            "certificate",
            "credentials",
            "error",
            "guard",
            "interface",
            "lenient_card",
            "card_url",
            "tls",
        ],
    ),
    ("guard", &[]),
    ("lenient_card", &[]),
    ("client", &["agent", "connect", "options", "stream", "transport", "failover"]),
    ("failover", &["agent", "error"]),
    ("card_url", &[]),
    (
        "connect",
        &[
            "agent",
            "card",
            "credentials",
            "error",
            "http",
            "interface",
            "negotiation",
            "options",
            "card_url",
            "sequence",
            "transport",
            "failover",
        ],
    ),
    ("stream", &["agent", "error", "http", "options", "transport"]),
    ("agent", &["error", "http", "sequence", "transport"]),
    ("sequence", &[]),
    ("negotiation", &["error", "interface"]),
    ("transport", &["error", "http", "lenient_card", "options", "sequence"]),
    ("card", &["cache", "error", "http", "lenient_card", "options", "card_url"]),
    ("http", &["credentials", "error", "options", "sequence"]),
    ("options", &["cache", "check", "credentials", "guard", "tls"]),
    ("cache", &[]),
    ("check", &[]),
    ("credentials", &["error", "interface"]),
    ("tls", &["certificate"]),
    ("error", &["certificate", "guard", "interface"]),
    ("certificate", &[]),
    ("interface", &[]),
    ("signature", &[]),
];

/// The backends do not use each other, and their common modules use none of them.
const STORE: Modules = &[
    ("append", &[]),
    ("backend", &["cache", "damage", "list"]),
    ("cache", &["feed", "known_ids"]),
    ("caller", &[]),
    ("damage", &["caller"]),
    ("deletion", &[]),
    ("error", &[]),
    ("event", &["caller"]),
    ("feed", &[]),
    ("head", &["caller"]),
    ("known_ids", &[]),
    ("leases", &["caller"]),
    ("list", &[]),
    ("memory", &["cache", "caller", "event", "feed", "list"]),
    ("private", &[]),
    ("record", &[]),
    ("size", &[]),
    ("sled", &["cache", "caller", "damage", "feed", "list", "private", "testing"]),
    ("snapshot", &["known_ids", "task_metadata"]),
    ("task_metadata", &["size"]),
    ("testing", &["caller"]),
    ("transfer", &["caller", "private", "export"]),
    ("export", &["caller"]),
];

/// `Shared`, the common part of the store, is in the root.
const POSTGRES: Modules = &[
    ("address", &[]),
    ("batch", &["connections", "failure", "rows"]),
    ("calls", &["connections", "failure", "rows"]),
    ("changes", &["connections", "failure", "rows"]),
    ("committer", &["batch", "failure"]),
    ("connections", &["failure", "limited_pool", "schema", "servers"]),
    ("failure", &[]),
    ("late_releases", &["connections", "rows"]),
    ("leases", &["connections", "failure", "rows"]),
    ("limited_pool", &["failure"]),
    ("reader", &["connections", "failure", "rows"]),
    ("recent", &[]),
    ("rows", &[]),
    ("schema", &["failure"]),
    ("servers", &["address", "failure"]),
    ("export", &["connections", "rows"]),
    ("store", &["batch", "connections", "failure", "reader", "rows"]),
];

const TASKS: Modules = &[
    ("turns", &["agent", "executor", "log_reader", "metered", "metrics", "trace"]),
    ("trace", &[]),
    ("agent", &["executor"]),
    ("executor", &["log_reader"]),
    ("log_reader", &[]),
    ("metered", &["metrics", "write_refusals"]),
    ("write_refusals", &[]),
    ("metrics", &[]),
    ("completion", &[]),
];

const BOTS: Modules = &[("builtin", &["bot"]), ("connector", &["bot"]), ("bot", &[])];

const SERVER: Modules = &[
    ("host", &["access", "quota", "retention", "server", "service", "trace"]),
    ("server", &["access", "quota", "service"]),
    ("service", &["quota", "retention", "trace"]),
    ("trace", &[]),
    ("retention", &[]),
    ("access", &["quota"]),
    ("quota", &[]),
];

const BRIDGE: Modules = &[
    ("main", &["cli"]),
    ("cli", &["config", "store", "tls"]),
    ("tls", &[]),
    ("config", &["store"]),
    ("store", &[]),
];

const MCP_TOOLS: Modules = &[
    ("main", &["cli"]),
    (
        "cli",
        &[
            "allow_list",
            "client",
            "connection",
            "context",
            "environments",
            "episodes",
            "relay",
            "server",
            "sites",
            "tools",
        ],
    ),
    // The tools of an evaluator.
    ("relay", &["client", "server", "trace"]),
    ("server", &["context", "episodes", "tools", "trace"]),
    ("episodes", &["connection", "environments"]),
    ("environments", &["arguments"]),
    // The tools of an agent under evaluation.
    (
        "tools",
        &[
            "acknowledge",
            "allow_list",
            "arguments",
            "client",
            "connection",
            "context",
            "inbox",
            "sites",
        ],
    ),
    ("sites", &["client"]),
    // The code that both use.
    ("arguments", &[]),
    ("context", &["acknowledge", "allow_list", "client", "connection", "inbox"]),
    ("acknowledge", &[]),
    ("client", &["allow_list", "connection", "trace"]),
    ("trace", &[]),
    ("inbox", &["acknowledge", "connection"]),
    ("allow_list", &["connection"]),
    ("connection", &[]),
];

const PURPLE: Modules = &[
    ("main", &["cli"]),
    ("cli", &["agent", "policy", "run"]),
    ("run", &["a2a_client", "agent"]),
    ("a2a_client", &["agent", "clock"]),
    ("hosted", &["agent", "clock"]),
    ("agent", &["clock", "policy", "toolbox"]),
    ("policy", &["clock", "toolbox"]),
    ("toolbox", &[]),
];

/// Packages below `green-agent` hold the arrows between scenarios, transcripts, participants and results.
const GREEN: Modules = &[
    ("main", &["cli", "recorder"]),
    ("cli", &["evaluator", "run"]),
    ("run", &["evaluator"]),
    ("evaluator", &[]),
];

const RESULTS: Modules = &[
    ("schema", &["comparison", "record", "run"]),
    ("report", &["comparison", "problem", "record", "run", "statistics", "summary"]),
    ("run", &["assessment", "gate", "problem", "record", "summary"]),
    ("gate", &["problem", "record", "statistics", "summary"]),
    ("comparison", &["problem", "record", "summary"]),
    ("summary", &["assessment", "problem", "record", "statistics"]),
    ("usage", &["record"]),
    ("record", &["problem"]),
    ("expect", &["assessment"]),
    ("assessment", &[]),
    ("problem", &[]),
    ("statistics", &[]),
];

#[test]
fn no_room_knows_one_above_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let wrong: Vec<String> = PACKAGES
        .iter()
        .flat_map(|(folder, name, rooms)| upwards(&root.join(folder).join("src"), name, rooms))
        .collect();
    assert!(wrong.is_empty(), "arrows that point upwards:\n{}", wrong.join("\n"));
}

/// The client depends on the bridge's library: of the bridge, only the command line may use it.
#[test]
fn only_the_command_line_of_the_bridge_talks_to_agents() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bridge/src");
    let names_client = |file: &PathBuf| fs::read_to_string(file).unwrap().contains("bridge_client");
    let outside = |file: &PathBuf| room_of(file.strip_prefix(&source).unwrap()) != "cli";
    let files = files_below(&source).into_iter();
    let wrong: Vec<PathBuf> = files.filter(outside).filter(names_client).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// Returns the uses in a package that its list of modules does not allow.
fn upwards(source: &Path, package: &str, rooms: Modules) -> Vec<String> {
    let mut wrong = Vec::new();
    for file in files_below(source) {
        let room = room_of(file.strip_prefix(source).unwrap());
        if room == "lib" {
            continue;
        }
        let known = rooms.iter().find(|(name, _)| *name == room);
        let (_, known) = known.unwrap_or_else(|| panic!("{package}::{room} stands in no table"));
        for named in rooms_named(&fs::read_to_string(&file).unwrap(), package) {
            let is_room = rooms.iter().any(|(name, _)| *name == named);
            if is_room && named != room && !known.contains(&named.as_str()) {
                wrong.push(format!("{}: {room} -> {named}", file.display()));
            }
        }
    }
    wrong
}

fn room_of(path: &Path) -> String {
    let first = path.iter().next().unwrap().to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

/// Returns the modules that a file uses outside of its tests: the names after `crate::` or the package's
/// name, also in braces.
fn rooms_named(text: &str, package: &str) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut rooms = BTreeSet::new();
    for prefix in ["crate::".to_owned(), format!("{package}::")] {
        for (at, _) in code.match_indices(&prefix) {
            let rest = &code[at + prefix.len()..];
            match rest.strip_prefix('{') {
                Some(list) => rooms.extend(members(list)),
                None => rooms.extend(word(rest)),
            }
        }
    }
    rooms
}

/// Returns the first words of a brace's members, not of the braces inside it.
fn members(list: &str) -> Vec<String> {
    let (mut depth, mut member, mut all) = (0, String::new(), Vec::new());
    for c in list.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => all.extend(word(&std::mem::take(&mut member))),
            _ if depth == 0 => member.push(c),
            _ => {}
        }
    }
    all.extend(word(&member));
    all
}

fn word(text: &str) -> Option<String> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let word = &text[..end];
    let is_room = word.starts_with(|c: char| c.is_ascii_lowercase());
    is_room.then(|| word.to_owned())
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // Tests may use any module.
        let name = path.file_stem().unwrap_or_default();
        let is_test = ["properties", "arbitrary", "interleavings"].iter().any(|test| name == *test);
        if is_test || name.to_string_lossy().ends_with("tests") {
            continue;
        }
        if path.is_dir() {
            files.extend(files_below(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    files
}
