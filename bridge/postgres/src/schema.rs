//! The tables in the database, and the steps that lead to those of this program.
//!
//! Each step is a transaction, which is made by one process at a time. A program accepts a later schema than its own if
//! that says that the program can go on with it, so that programs of two versions run beside each other while they are
//! replaced.

use deadpool_postgres::ClientWrapper;

use crate::failure::{told, unavailable};
use bridge_store::StoreError;

/// The oldest server that has what the statements need.
const OLDEST_SERVER: u32 = 15;

/// The steps, oldest first. The number of a schema is the number of steps that led to it. Steps are never changed once
/// they were released.
const STEPS: [&str; 3] = [
    include_str!("../migrations/0001_log.sql"),
    include_str!("../migrations/0002_replicas.sql"),
    include_str!("../migrations/0003_calls.sql"),
];

/// The number of this program's schema.
const OWN: u32 = STEPS.len() as u32;

/// The number of the oldest schema whose program can go on with this program's schema.
const READABLE_BY: u32 = 2;

/// The key of the lock that is held while the schema is looked at and changed.
const LOCK: i64 = 0x6272_6964_6765;

/// Nothing is made that is there: a user who may only use the tables needs no right to make any.
const STATE: &str = "DO $$ BEGIN
    IF to_regclass('bridge.schema') IS NULL THEN
        CREATE SCHEMA IF NOT EXISTS bridge;
        CREATE TABLE bridge.schema (number integer NOT NULL, readable_by integer NOT NULL);
    END IF; END $$";

/// Checks the server and its tables, and makes those that are missing. `address` is shown in errors.
///
/// # Errors
/// `Unsupported` if the server is too old, `Newer` if a later program has changed the tables.
pub(super) async fn prepare(client: &mut ClientWrapper, address: &str) -> Result<(), StoreError> {
    check_server(client, address).await?;
    let failed = |error: tokio_postgres::Error| unavailable(told(&error));
    let transaction = client.transaction().await.map_err(failed)?;
    // Making an index on large tables may take long, and so may waiting for another process.
    let begin = "SET LOCAL statement_timeout = '10min'";
    transaction.batch_execute(begin).await.map_err(failed)?;
    let lock = "SELECT pg_advisory_xact_lock($1)";
    transaction.execute(lock, &[&LOCK]).await.map_err(failed)?;
    transaction.batch_execute(STATE).await.map_err(failed)?;
    let known = "SELECT number, readable_by FROM bridge.schema";
    let known = transaction.query_opt(known, &[]).await.map_err(failed)?;
    let number = |column: usize| {
        let known = known.as_ref().map(|row| row.get::<_, i32>(column));
        known.map_or(0, |number| u32::try_from(number).unwrap_or_default())
    };
    let (found, readable_by) = (number(0), number(1));
    if found > OWN && readable_by > OWN {
        return Err(StoreError::Newer {
            path: address.into(),
            found,
            known: OWN,
        });
    }
    if found >= OWN {
        return Ok(());
    }
    for step in &STEPS[found as usize..] {
        transaction.batch_execute(step).await.map_err(failed)?;
    }
    transaction
        .execute("DELETE FROM bridge.schema", &[])
        .await
        .map_err(failed)?;
    let state: [i32; 2] = [OWN, READABLE_BY].map(u32::cast_signed);
    let insert = "INSERT INTO bridge.schema (number, readable_by) VALUES ($1, $2)";
    transaction
        .execute(insert, &[&state[0], &state[1]])
        .await
        .map_err(failed)?;
    transaction.commit().await.map_err(failed)?;
    tracing::info!(address, from = found, to = OWN, "the tables were made");
    Ok(())
}

async fn check_server(client: &ClientWrapper, address: &str) -> Result<(), StoreError> {
    let version =
        "SELECT current_setting('server_version_num')::integer, current_setting('server_version')";
    let row = client.query_one(version, &[]).await;
    let row = row.map_err(|error| unavailable(told(&error)))?;
    check_version(address, row.get(0), row.get(1))
}

/// Refuses a server that is too old, by its `server_version_num` and `server_version`.
fn check_version(address: &str, number: i32, version: &str) -> Result<(), StoreError> {
    match u32::try_from(number).unwrap_or_default() / 10_000 >= OLDEST_SERVER {
        true => Ok(()),
        false => Err(StoreError::Unsupported {
            what: format!("{address} is PostgreSQL {version}"),
            expected: format!("PostgreSQL {OLDEST_SERVER} or later"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_server_is_refused_by_its_version() {
        let check = |number, version| check_version("postgres://db/tasks", number, version);
        check(150_000, "15.0").unwrap();
        check(180_001, "18.1 (Debian 18.1-1)").unwrap();
        for (number, version) in [
            (140_022, "14.22 (Debian 14.22-1)"),
            (90_624, "9.6.24"),
            (-1, "x"),
        ] {
            let error = check(number, version).unwrap_err().to_string();
            let expected = format!(
                "postgres://db/tasks is PostgreSQL {version}, expected PostgreSQL 15 or later"
            );
            assert_eq!(error, expected);
        }
    }

    /// A program of the version before goes on with what it knows, so later steps only add.
    #[test]
    fn steps_after_the_oldest_readable_one_only_add() {
        for step in &STEPS[READABLE_BY as usize..] {
            let code = step
                .lines()
                .filter(|line| !line.trim_start().starts_with("--"));
            let code = code.collect::<Vec<_>>().join(" ").to_uppercase();
            for removing in [
                "DROP ",
                "RENAME ",
                "TRUNCATE ",
                "ALTER COLUMN",
                "REPLACE FUNCTION",
            ] {
                assert!(!code.contains(removing), "{removing}: {step}");
            }
        }
    }
}
