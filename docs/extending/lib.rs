//! The examples of the page "Extending", compiled with the dependencies that the page names.
#![cfg(test)]
#![expect(dead_code, reason = "each module is a program of its own")]

#[path = "../../mcp-tools/examples/own_environment.rs"]
mod environment;
#[path = "../../green-agent/examples/own_evaluator.rs"]
mod evaluator;
#[path = "../../bridge/examples/own_executor.rs"]
mod executor;
#[path = "../../bridge/examples/forwarding.rs"]
mod forwarding;
#[path = "../../purple-agent/examples/own_policy.rs"]
mod policy;
#[path = "../../green-agent/examples/run_scenario.rs"]
mod run;
#[path = "../../mcp-tools/examples/own_tool.rs"]
mod tool;

/// Programs can name what they set, and what they match on.
mod names {
    use std::{future::pending, io, time::Duration};

    use bridge::{
        App, Limits, PlainTcp, Rejection,
        bot::{
            BotSettings, QuestionEnd, SilentEnd, TurnMode,
            remote::{File, RemoteSettings},
        },
        store::{StoreError, StoredEvent},
    };
    use green_agent::{
        Exit,
        record::TrialRecord,
        run::{RunLog, RunOptions, RunReport, run},
        scenario::ScenarioFile,
    };

    fn bot() -> BotSettings {
        BotSettings { silent_end: SilentEnd::Completed, ..BotSettings::new("mine") }
    }

    fn remote_bot() -> RemoteSettings {
        let question_end = QuestionEnd::Completed;
        RemoteSettings { question_end, ..RemoteSettings::with(TurnMode::Answers) }
    }

    async fn serve(listener: tokio::net::TcpListener, app: axum::Router) -> io::Result<()> {
        let limits = Limits { idle: Duration::from_secs(30), ..Limits::default() };
        bridge::serve_within(limits, listener, PlainTcp, app, pending()).await
    }

    /// An app whose refusals are their own.
    fn refusing(app: axum::Router) -> App {
        App::from(app).with_rejections(|_, reason: Rejection| {
            let mut refusal = axum::response::Response::new(reason.text().into());
            *refusal.status_mut() = reason.status();
            refusal
        })
    }

    fn file_name(file: &File) -> Option<&str> {
        file.name.as_deref()
    }

    async fn serve_tls(
        listener: tokio::net::TcpListener,
        certificate: bridge::tls::Certificate,
        app: axum::Router,
    ) -> io::Result<()> {
        bridge::tls::serve(Limits::default(), listener, certificate, app, pending()).await
    }

    /// A row of a store of their own.
    fn row(event: &StoredEvent) -> Vec<u8> {
        bridge::store::encoded(event)
    }

    fn of_row(row: &[u8]) -> Result<StoredEvent, StoreError> {
        bridge::store::decoded_value("an event", row)
    }

    /// A server runs scenarios in tasks of their own.
    fn spawned(
        found: Vec<ScenarioFile>,
        options: RunOptions,
        log: RunLog,
    ) -> tokio::task::JoinHandle<RunReport> {
        tokio::spawn(async move { run(&found, &options, &log).await })
    }

    fn is_broken(record: &TrialRecord) -> bool {
        record.exit == Exit::Infrastructure
    }
}
