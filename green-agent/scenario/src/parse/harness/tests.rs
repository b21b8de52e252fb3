use super::*;
use crate::{
    model::Requirement,
    tests::{errors_of, scenario_of},
};

const GREEN: &str = "[green_agent]\nendpoint = 'http://h'\n";

fn harness_of(text: &str) -> Harness {
    scenario_of(&format!("{GREEN}{text}")).harness
}

#[test]
fn a_plain_file_asks_for_no_snapshot() {
    let plain = harness_of("");
    assert!(!plain.declared && plain.snapshot.is_none());
    assert_eq!((plain.trials, plain.seed, plain.ports), (1, 0, Ports::Fixed));
    let timeout = plain.timeout;
    assert_eq!(
        [timeout.ready, timeout.idle, timeout.total, timeout.stop].map(|limit| limit.as_secs()),
        [180, 300, 1800, 5]
    );
    let declared = harness_of("[harness]\nversion = 1\n");
    assert!(declared.declared);
    assert_eq!(declared.snapshot, Some(SnapshotSettings::default()));
    // Agents of a plain file get the environment of the runner, as from AgentBeats' own runner.
    let inherited = harness_of("[harness]\nversion = 1\nenv = 'inherit'\n");
    assert_eq!([plain, declared, inherited].map(|one| one.inherit), [true, false, true]);
}

#[test]
fn every_key_is_read() {
    let harness = harness_of(
        "[harness]\nversion = 1\ntrials = 3\nseed = 7\nrequires = ['command:uv']\nports = 'auto'\n\
         timeout = { ready = '1s', idle = '2s', total = '3s', stop = '4s' }\n\
         snapshot = { redact = ['/result/*/text'] }\n\
         pass_score = 0.5\nagent_errors = 'infrastructure'\n",
    );
    assert_eq!(harness.pass_score, Some(0.5));
    assert_eq!(harness.agent_errors, AgentErrors::Infrastructure);
    assert_eq!((harness.trials, harness.seed, harness.ports), (3, 7, Ports::Auto));
    assert_eq!(harness.requires, [Requirement::Command("uv".to_owned())]);
    let Timeouts { ready, idle, total, stop } = harness.timeout;
    assert_eq!([ready, idle, total, stop].map(|limit| limit.as_secs()), [1, 2, 3, 4]);
    assert_eq!(harness.snapshot.unwrap().redact, ["/result/*/text"]);
    assert!(harness_of("[harness]\nversion = 1\nsnapshot = false\n").snapshot.is_none());
}

#[test]
fn a_key_that_is_almost_a_known_one_is_a_mistake_and_others_may_be_meant_for_others() {
    let agent = "[[participants]]\nrole = 'purple'\nendpoint = 'http://h:1'\n";
    for (text, expected) in [
        ("[harnes]\nversion = 1\n", "a.toml:3:2: harnes: unknown key; did you mean harness? "),
        (
            "[participant]\nrole = 'purple'\n",
            "a.toml:3:2: participant: unknown key; did you mean participants? ",
        ),
        (
            &format!("{agent}pass_envs = ['A']\n"),
            "a.toml:6:1: participants[0].pass_envs: unknown key; did you mean pass_env? ",
        ),
        (
            &format!("{agent}cdm = 'agent'\n"),
            "a.toml:6:1: participants[0].cdm: unknown key; did you mean cmd? ",
        ),
    ] {
        let errors = errors_of(&format!("{GREEN}{text}"));
        assert!(errors.starts_with(expected), "{errors}");
    }
    scenario_of(&format!(
        "{GREEN}leaderboard = 1\n{agent}team = 'a'\nreplicas = 2\n[metadata]\na = 1\n"
    ));
}

#[test]
fn mistakes_are_reported_at_their_key() {
    for (line, expected) in [
        (
            "trails = 3",
            "a.toml:5:1: harness.trails: unknown key; did you mean trials? known here: agent_errors, ",
        ),
        (
            "trials = 0",
            "a.toml:5:10: harness.trials: expected a whole number of at least 1, found 0",
        ),
        ("trials = 4294967296", "a.toml:5:10: harness.trials: expected"),
        ("seed = -1", "a.toml:5:8: harness.seed: expected a whole number of at least 0, found -1"),
        (
            "ports = 'any'",
            "a.toml:5:9: harness.ports: expected \"auto\" or \"fixed\", found \"any\"",
        ),
        (
            "agent_errors = 'ignore'",
            "a.toml:5:16: harness.agent_errors: expected \"failed\" or \"infrastructure\", found",
        ),
        (
            "reuse = 'ports'",
            "a.toml:5:9: harness.reuse: expected \"nothing\" or \"agents\", found \"ports\"",
        ),
        ("pass_score = '1'", "a.toml:5:14: harness.pass_score: expected a number"),
        ("requires = ['uv']", "a.toml:5:13: harness.requires[0]: expected python:"),
        ("timeout = { idle = '0s' }", "a.toml:5:20: harness.timeout.idle: expected a duration"),
        (
            "timeout.redy = '1s'",
            "a.toml:5:9: harness.timeout.redy: unknown key; did you mean ready?",
        ),
        (
            "snapshot = 'no'",
            "a.toml:5:12: harness.snapshot: expected false, or a table with redact",
        ),
        (
            "snapshot = { redact = ['text'] }",
            "a.toml:5:24: harness.snapshot.redact[0]: expected a JSON pointer",
        ),
        (
            "env = { A = 'a' }",
            "a.toml:5:7: harness.env: expected \"clean\" or \"inherit\" (variables stand in",
        ),
    ] {
        let errors = errors_of(&format!("{GREEN}[harness]\nversion = 1\n{line}\n"));
        assert!(errors.starts_with(expected), "{errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
    }
}

#[test]
fn the_version_must_be_there_and_be_ours() {
    for (line, expected) in [
        ("", "a.toml:3:1: harness.version: missing; expected version = 1"),
        (
            "version = 2",
            "a.toml:4:11: harness.version: expected 1, the only version there is, found 2",
        ),
        ("version = '1'", "a.toml:4:11: harness.version: expected"),
    ] {
        let errors = errors_of(&format!("{GREEN}[harness]\n{line}\n"));
        assert!(errors.starts_with(expected), "{errors}");
    }
}

#[test]
fn numbers_that_are_too_large_are_reported_as_such() {
    for (trials, expected) in [
        ("5_000_000_000", "expected a smaller whole number, found 5000000000"),
        ("99999999999999999999", "expected a whole number of 64 bits, found 99999999999999999999"),
        ("0", "expected a whole number of at least 1, found 0"),
    ] {
        let errors = errors_of(&format!("{GREEN}[harness]\nversion = 1\ntrials = {trials}\n"));
        assert!(errors.contains(expected), "{errors}");
    }
}
