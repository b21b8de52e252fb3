//! Tests the traces of the program, with the SDK of OpenTelemetry on the other side.

mod taken_up;

use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::{bots::interop, dead_collector::DeadCollector, program::run, venv};

const LIMIT: Duration = Duration::from_secs(180);

#[tokio::test]
async fn a_trace_goes_through_the_bridge_and_on() {
    let python = venv::with(&venv::TRACED).await.join("bin/python");
    let mut talk = tokio::process::Command::new(python);
    talk.arg(interop("traced.py")).arg(env!("CARGO_BIN_EXE_bridge"));
    let (passed, said) = run(&mut talk, LIMIT).await;
    assert!(passed, "traces do not agree:\n{said}");
}

#[tokio::test]
async fn a_collector_that_does_not_work_costs_its_traces_and_nothing_else() {
    for collector in DeadCollector::ALL {
        let mut bridge = Command::new(env!("CARGO_BIN_EXE_bridge"))
            .args(["--log-format", "json", "serve", "--listen", "127.0.0.1:0"])
            .args(["--store", "memory", "--builtin", "echo"])
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url())
            .env("OTEL_BSP_SCHEDULE_DELAY", "10")
            // Both the queue and the batches are full all the time.
            .env("OTEL_BSP_MAX_QUEUE_SIZE", "8")
            .env("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "4")
            .env("OTEL_EXPORTER_OTLP_TIMEOUT", "200")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut told = BufReader::new(bridge.stderr.take().unwrap()).lines();
        let url = loop {
            let line = told.next().unwrap().unwrap();
            let line: serde_json::Value = serde_json::from_str(&line).unwrap();
            let told = line["fields"]["message"].as_str().unwrap();
            if let Some(url) = told.strip_prefix("listening on ") {
                break url.to_owned();
            }
        };
        for id in 0..100 {
            let message = serde_json::json!({"message": {"messageId": format!("m-{id}"),
                "role": "ROLE_USER", "parts": [{"text": "hello"}]}});
            let sent = reqwest::Client::new()
                .post(format!("{url}/a2a/message:send"))
                .header("a2a-version", "1.0")
                .json(&message)
                .send()
                .await
                .unwrap();
            assert_eq!(sent.status(), 200, "{collector:?}");
        }
        // The collector's error is logged once.
        let dropped = |line: &str| line.contains("traces do not reach the collector");
        let line = told.find(|line| dropped(line.as_ref().unwrap()));
        assert!(line.is_some(), "{collector:?}");
        let pid = Pid::from_raw(bridge.id().cast_signed());
        kill(pid, Signal::SIGTERM).unwrap();
        let again = told.filter(|line| dropped(line.as_ref().unwrap())).count();
        assert_eq!((bridge.wait().unwrap().code(), again), (Some(0), 0));
    }
}
