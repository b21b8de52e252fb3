//! The routes for the operator that check and compact the store while the bridge serves.

use std::time::Duration;

use axum::extract::State;
use bridge_program::Json;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::admin_error::AdminError;
use crate::{store::StoreError, turns::Turns};

/// The time of one request; the client repeats the request to free more space.
const STEPS: Duration = Duration::from_secs(5);
/// The pause between two steps, which leaves time for other requests.
const REST: Duration = Duration::from_millis(1);

/// Frees disk space for some seconds. Returns the size of the store, and whether more can be freed.
pub(super) async fn compact(State(turns): State<Turns>) -> Result<Json<Value>, AdminError> {
    let (store, begun) = (turns.store(), Instant::now());
    let mut is_more = true;
    while is_more && begun.elapsed() < STEPS {
        is_more = store.compact_step().await?;
        sleep(REST).await;
    }
    let found = store.disk_use().await?.ok_or_else(elsewhere)?;
    Ok(Json(json!({
        "more": is_more, "log": found.log, "index": found.index, "live": found.live,
    })))
}

/// Reads every task and small record, and returns the damaged ones.
pub(super) async fn check(State(turns): State<Turns>) -> Result<Json<Value>, AdminError> {
    let report = turns.store().inspect().await?.ok_or_else(elsewhere)?;
    let (text, is_intact) = (report.to_string(), report.is_intact());
    Ok(Json(json!({"report": text, "whole": is_intact})))
}

fn elsewhere() -> StoreError {
    StoreError::io(
        "the maintenance of the store",
        std::io::Error::other("it is in no folder of this bridge; a database has tools of its own"),
    )
}
