//! Tests that no process of an agent is left, however the agent, its runner, or its supervisor ends.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use green_agent::participant::{AgentExit, AgentProcess, Supervisor};
use nix::{
    sys::signal::{Signal, kill, killpg},
    unistd::{Pid, getpgid},
};
use tokio::time::timeout;

use super::{
    deaf,
    support::{LIMIT, eventually, is_alive, pid_in, script, supervisor, wait_until_gone},
};

/// The variable that makes the test below run as a runner, in this folder.
const RUNNER_DIR: &str = "GREEN_AGENT_TEST_RUNNER_DIR";

/// Returns a script that starts a child, starts an orphan that ignores SIGTERM in a separate session, and then runs
/// `after`.
fn family(after: &str) -> String {
    format!(
        "sleep 300 & echo $! > child\n\
         (setsid sh -c 'trap \"\" TERM; echo $$ > orphan; while :; do sleep 1; done' &)\n\
         while ! [ -s orphan ]; do sleep 0.01; done\n\
         echo $$ > leader\n\
         {after}"
    )
}

fn family_pids(dir: &Path) -> [i32; 3] {
    ["leader", "child", "orphan"].map(|name| pid_in(dir, name))
}

#[tokio::test]
async fn nothing_is_left_after_a_stop() {
    let dir = tempfile::tempdir().unwrap();
    let agent = AgentProcess::start(&script(dir.path(), &family("wait"))).unwrap();
    let pids = family_pids(dir.path());
    assert!(pids.into_iter().all(is_alive));
    assert_eq!(agent.stop(Duration::from_millis(200)).await, AgentExit::Signal(15));
    assert_eq!(pids.map(is_alive), [false; 3]);
}

#[tokio::test]
async fn nothing_is_left_after_a_crash() {
    let dir = tempfile::tempdir().unwrap();
    let agent = AgentProcess::start(&script(dir.path(), &family("exit 7"))).unwrap();
    let pids = family_pids(dir.path());
    let exit = timeout(LIMIT, agent.wait()).await.unwrap();
    assert_eq!(exit, AgentExit::Code(7));
    assert_eq!(pids.map(is_alive), [false; 3]);
}

#[tokio::test]
async fn nothing_is_left_after_a_drop() {
    let dir = tempfile::tempdir().unwrap();
    let mut launch = script(dir.path(), &family("wait"));
    launch.grace = Duration::from_secs(600);
    let agent = AgentProcess::start(&launch).unwrap();
    let pids = family_pids(dir.path());
    drop(agent);
    pids.into_iter().for_each(wait_until_gone);
}

#[tokio::test]
async fn an_agent_that_keeps_forking_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let text = "trap '' TERM\n\
                echo $$ > leader\n\
                while :; do (setsid sleep 300 & echo $! >> forked); sleep 0.01; done";
    let agent = AgentProcess::start(&script(dir.path(), text)).unwrap();
    pid_in(dir.path(), "leader");
    let forked = || std::fs::read_to_string(dir.path().join("forked")).unwrap_or_default();
    eventually("some forks", || (forked().lines().count() > 3).then_some(()));
    let exit = agent.stop(Duration::from_millis(200)).await;
    assert_eq!(exit, AgentExit::Signal(9));
    for pid in forked().lines() {
        assert!(!is_alive(pid.parse().unwrap()), "{pid}");
    }
}

#[test]
fn a_supervisor_cleans_up_before_it_obeys_a_signal() {
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let dir = tempfile::tempdir().unwrap();
        let mut kept = Command::new(supervisor().program)
            .args(["__keep", "--grace-ms", "200", "--", "sh", "-c", &family("wait")])
            .current_dir(dir.path())
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let pids = family_pids(dir.path());
        kill(Pid::from_raw(kept.id().try_into().unwrap()), signal).unwrap();
        let status = eventually("the supervisor's end", || kept.try_wait().unwrap());
        assert_eq!(status.code(), Some(128 + 15), "{signal}");
        assert_eq!(pids.map(is_alive), [false; 3], "{signal}");
    }
}

#[test]
fn a_supervisor_says_what_it_cannot_start() {
    let cases = [
        (&["--grace-ms", "1", "--", "/no/such/program"][..], 127, "/no/such/program"),
        (&["--grace-ms", "1", "--", "/"], 126, "failed to start"),
        (&["sh"], 2, "usage"),
    ];
    for (args, code, message) in cases {
        let mut supervisor = Command::new(supervisor().program);
        let output = supervisor.arg("__keep").args(args).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(message), "{said}");
    }
}

#[test]
fn the_running_program_is_found_again() {
    let program = Supervisor::current_exe().unwrap().program;
    let output = Command::new(program).arg("--list").output().unwrap();
    let tests = String::from_utf8(output.stdout).unwrap();
    assert!(tests.contains("the_running_program_is_found_again"), "{tests}");
}

/// The runner that other tests start, which ends only with its agent. It is not a test itself.
#[tokio::test]
async fn runner_for_other_tests() {
    let Some(dir) = std::env::var_os(RUNNER_DIR).map(PathBuf::from) else {
        return;
    };
    let agent = AgentProcess::start(&script(&dir, &family("wait"))).unwrap();
    agent.wait().await;
}

#[test]
fn nothing_is_left_after_the_runner_however_it_ends() {
    for signal in [Signal::SIGKILL, Signal::SIGTERM, Signal::SIGINT, Signal::SIGABRT] {
        let dir = tempfile::tempdir().unwrap();
        let mut runner = start_runner(dir.path());
        let pids = family_pids(dir.path());
        assert!(pids.into_iter().all(is_alive));
        let supervisor = parent_of(pids[0]);
        // A terminal sends signals to the whole group too.
        killpg(Pid::from_raw(runner.id().try_into().unwrap()), signal).unwrap();
        eventually("the runner's end", || runner.try_wait().unwrap());
        pids.into_iter().chain([supervisor]).for_each(wait_until_gone);
    }
}

#[test]
fn the_terminals_signals_do_not_reach_agents() {
    let dir = tempfile::tempdir().unwrap();
    let mut runner = start_runner(dir.path());
    let pids = family_pids(dir.path());
    let group = |pid| getpgid(Some(Pid::from_raw(pid))).unwrap();
    let runners = group(runner.id().try_into().unwrap());
    assert!(pids.into_iter().chain([parent_of(pids[0])]).all(|pid| group(pid) != runners));
    runner.kill().unwrap();
    runner.wait().unwrap();
    pids.into_iter().for_each(wait_until_gone);
}

fn start_runner(dir: &Path) -> std::process::Child {
    use std::os::unix::process::CommandExt;
    // If the tests run in the background, SIGINT is ignored, and the runner would inherit that.
    Command::new("env")
        .arg("--default-signal=INT,TERM,ABRT")
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "supervisor::runner_for_other_tests"])
        .env(RUNNER_DIR, dir)
        .process_group(0)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

fn parent_of(pid: i32) -> i32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    fields.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// A policy runs inside the runner, and so does its client, which starts the MCP server.
#[test]
fn a_killed_runner_leaves_no_mcp_server_of_its_policies() {
    let dir = tempfile::tempdir().unwrap();
    let server = deaf::program(dir.path());
    let scenario = format!(
        "[green_agent]\n\
         [[participants]]\nrole = 'a'\npolicy = 'scripted'\nallow = {{ commands = ['{0}'] }}\n\
         [[participants.settings.steps]]\ntool = 'connect_to_mcp_server'\n\
         [config]\nevaluator = 'conversation'\n\
         [[config.turn]]\nto = 'a'\nparts = [{{ data = {{ mcpServers = {{ deaf = {{ command = '{0}' }} }} }} }}]\n\
         [harness]\nversion = 1\n",
        server.display()
    );
    let file = dir.path().join("deaf.toml");
    std::fs::write(&file, scenario).unwrap();
    let runner = Command::new(supervisor().program)
        .arg("run")
        .arg(file)
        .arg("--runs")
        .arg(dir.path().join("runs"))
        .current_dir(dir.path())
        .spawn()
        .unwrap();
    deaf::ends_with(runner, dir.path());
}
