//! `bridge push`: works with push notifications that were given up.

use std::sync::Arc;

use bridge_program::{outln, terminal};
use clap::{Args, Subcommand};

use super::{Result, runtime, store::StoreChoice};
use crate::{
    push::Undelivered,
    store::{Store, StoreError},
};

/// List push notifications that were given up, or retry them
#[derive(Debug, Args)]
#[command(after_help = NOTE)]
pub(super) struct PushCommand {
    #[command(subcommand)]
    action: Action,
}

const NOTE: &str = "\
The bridge that serves the store must be stopped first. While it runs, bridge_push_settings_given_up of /metrics \
counts them, its log lists them, and a client can retry one of its own by setting it again.

Example:
  bridge push retry --store sled:bridge-data";

#[derive(Debug, Subcommand)]
enum Action {
    /// List them, one per line: agent, task, configuration, host, event, attempts, time, and reason
    List {
        /// The store of tasks
        #[arg(long, value_name = "STORE", default_value = "sled:bridge-data")]
        store: StoreChoice,
    },
    /// Retry them when the bridge is started again
    Retry {
        /// The store of tasks
        #[arg(long, value_name = "STORE", default_value = "sled:bridge-data")]
        store: StoreChoice,
        /// Retry only those of this task
        task: Option<String>,
    },
}

impl PushCommand {
    pub(super) fn execute(&self) -> Result<()> {
        outln!("{}", runtime()?.block_on(self.carry_out())?);
        Ok(())
    }

    async fn carry_out(&self) -> Result<String> {
        Ok(match &self.action {
            Action::List { store } => list(&store.open_known().await?).await?,
            Action::Retry { store, task } => {
                retry(&store.open_known().await?, task.as_deref()).await?
            }
        })
    }
}

async fn list(store: &Arc<dyn Store>) -> Result<String, StoreError> {
    let all = Undelivered::all(store).await?;
    let lines: Vec<String> = all.iter().map(line).collect();
    Ok(if lines.is_empty() { "nothing was given up".to_owned() } else { lines.join("\n") })
}

fn line(one: &Undelivered) -> String {
    let line = format!(
        "{} {} {} {} event {} attempts {} since {:.0}: {}",
        one.agent, one.task, one.id, one.host, one.seq, one.attempts, one.since, one.reason
    );
    terminal::line(&line).into_owned()
}

async fn retry(store: &Arc<dyn Store>, task: Option<&str>) -> Result<String, StoreError> {
    let mut count = 0;
    for one in Undelivered::all(store).await? {
        if task.is_none_or(|task| task == one.task) {
            count += usize::from(one.retry_later(store).await?);
        }
    }
    Ok(format!("{count} will be retried when the bridge is started"))
}
