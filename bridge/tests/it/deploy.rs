//! Tests the examples for operators: what systemd, Kubernetes and Prometheus read, and the configuration in it.

use std::{io::ErrorKind, path::PathBuf, time::Duration};

use tokio::process::Command;

use crate::{program::output, venv};

const LIMIT: Duration = Duration::from_secs(300);
const VALIDATE: [&str; 1] = ["kubernetes-validate==1.37.0"];

fn example(name: &str) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/deploy");
    PathBuf::from(folder).join(name)
}

#[tokio::test]
async fn the_manifests_are_those_of_kubernetes() {
    let validate = venv::with(&VALIDATE).await.join("bin/kubernetes-validate");
    let mut command = Command::new(validate);
    command.arg("--strict").arg(example("kubernetes.yaml"));
    let (code, told, error) = output(&mut command, LIMIT).await;
    assert_eq!(code, Some(0), "{told}{error}");
}

#[tokio::test]
async fn the_configuration_in_the_manifests_is_served() {
    let python = venv::with(&VALIDATE).await.join("bin/python");
    let script = "import sys, yaml\n\
        for one in yaml.safe_load_all(open(sys.argv[1])):\n    \
        print(one.get('data', {}).get('bridge.toml', ''), end='')";
    let mut command = Command::new(python);
    command.args(["-I", "-c", script]).arg(example("kubernetes.yaml"));
    let (_, config, error) = output(&mut command, LIMIT).await;
    assert!(config.contains("[drain]"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bridge.toml");
    std::fs::write(&path, config).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_bridge"));
    command.args(["config", "check"]).arg(&path);
    let (code, told, error) = output(&mut command, LIMIT).await;
    assert_eq!(code, Some(0), "{told}{error}");
}

/// systemd says how far a service is open, from 0 to 10; of most it is 9.6.
#[tokio::test]
async fn the_unit_is_one_of_systemd_and_closed() {
    let mut command = Command::new("systemd-analyze");
    command.args(["security", "--offline=true", "--threshold=15", "--no-pager"]);
    command.arg(example("bridge.service"));
    if is_installed("systemd-analyze") {
        let (code, told, error) = output(&mut command, LIMIT).await;
        assert_eq!(code, Some(0), "{told}{error}");
    }
}

/// A bot that fails for the first time, and turns that a bridge takes over as it starts, raise alerts.
#[tokio::test]
async fn the_alerts_are_raised_by_first_events() {
    let alerts = example("alerts.yml");
    let rules = serde_json::json!({
        "rule_files": [alerts],
        "tests": [{
            "interval": "1m",
            "input_series": [
                {"series": r#"bridge_turn_duration_seconds_count{agent="a", outcome="failed"}"#, "values": "0 0 1 1"},
                {"series": r#"bridge_turns_taken_over_total{agent="a", outcome="failed"}"#, "values": "_ _ 2 2x10"},
            ],
            "alert_rule_test": [
                {"eval_time": "3m", "alertname": "TurnsFail", "exp_alerts": [{
                    "exp_labels": {"agent": "a", "outcome": "failed"},
                    "exp_annotations": {"summary": "the bot of a may be down"},
                }]},
                {"eval_time": "3m", "alertname": "TurnsWereTakenOver", "exp_alerts": [{
                    "exp_labels": {"agent": "a", "outcome": "failed"},
                    "exp_annotations": {"summary": "a bridge was killed or regarded as dead"},
                }]},
                {"eval_time": "9m", "alertname": "TurnsWereTakenOver", "exp_alerts": []},
            ],
        }],
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tests.yml");
    std::fs::write(&path, rules.to_string()).unwrap();
    let mut command = Command::new("promtool");
    command.args(["test", "rules"]).arg(&path);
    if is_installed("promtool") {
        let (code, told, error) = output(&mut command, LIMIT).await;
        assert_eq!(code, Some(0), "{told}{error}");
    }
}

/// Not every machine has systemd and Prometheus.
fn is_installed(program: &str) -> bool {
    let mut looking = std::process::Command::new(program);
    match looking.arg("--version").output() {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::NotFound);
            false
        }
    }
}
