//! Creates and migrates the tables in the database.
//!
//! All missing migrations run in one transaction, in one process at a time. A program accepts a later schema than its own
//! if the schema declares that the program can use it, so that programs of two versions can run at the same time during an
//! update.

use std::{pin::pin, time::Duration};

use deadpool_postgres::ClientWrapper;
use tokio::time::timeout;
use tokio_postgres::{Transaction, error::SqlState};

use crate::failure::{describe, unavailable};
use bridge_store::{Result, StoreError};

/// The oldest major version of PostgreSQL that supports the statements.
const OLDEST_SERVER: u32 = 15;

/// The migrations, oldest first. The version of a schema is the number of its migrations. A released migration is never
/// changed.
const MIGRATIONS: [&str; 3] = [
    include_str!("../migrations/0001_log.sql"),
    include_str!("../migrations/0002_replicas.sql"),
    include_str!("../migrations/0003_calls.sql"),
];

/// The version of this program's schema.
const VERSION: u32 = MIGRATIONS.len() as u32;

/// The version of the oldest program that can use this program's schema.
const READABLE_BY: u32 = 2;

/// The key of the advisory lock that is held while the schema is read and changed.
const LOCK_KEY: i64 = 0x6272_6964_6765;

/// The time after which the log says that the lock is waited for.
const QUIET: Duration = Duration::from_secs(2);

/// Creates nothing that exists: a user who only uses the tables needs no right to create any.
const CREATE_SCHEMA: &str = "DO $$ BEGIN
    IF to_regclass('bridge.schema') IS NULL THEN
        CREATE SCHEMA IF NOT EXISTS bridge;
        CREATE TABLE bridge.schema (number integer NOT NULL, readable_by integer NOT NULL);
    END IF; END $$";

/// Checks the server and migrates its tables. `address` is shown in errors.
///
/// # Errors
/// `Unsupported` if the server is too old, `Newer` if a later version has changed the tables.
pub(super) async fn prepare(client: &mut ClientWrapper, address: &str) -> Result<()> {
    check_server(client, address).await?;
    let failed = |error: tokio_postgres::Error| unavailable(describe(&error));
    let transaction = client.transaction().await.map_err(failed)?;
    // It may take long to create an index on a large table, or to wait for another process.
    let begin = "SET LOCAL statement_timeout = '10min'";
    transaction.batch_execute(begin).await.map_err(failed)?;
    acquire_lock(&transaction, address).await.map_err(failed)?;
    let created = transaction.batch_execute(CREATE_SCHEMA).await;
    created.map_err(failed)?;
    let known = "SELECT number, readable_by FROM bridge.schema";
    let known = transaction.query_opt(known, &[]).await.map_err(failed)?;
    let number = |column: usize| {
        let known = known.as_ref().map(|row| row.get::<_, i32>(column));
        known.map_or(0, |number| u32::try_from(number).unwrap_or_default())
    };
    let (found, readable_by) = (number(0), number(1));
    if found > VERSION && readable_by > VERSION {
        return Err(StoreError::Newer { path: address.into(), found, known: VERSION });
    }
    if found >= VERSION {
        return Ok(());
    }
    for migration in &MIGRATIONS[found as usize..] {
        let migrated = transaction.batch_execute(migration).await;
        migrated.map_err(|error| cannot_migrate(found, &error))?;
    }
    let delete = "DELETE FROM bridge.schema";
    transaction.execute(delete, &[]).await.map_err(failed)?;
    let state: [i32; 2] = [VERSION, READABLE_BY].map(u32::cast_signed);
    let insert = "INSERT INTO bridge.schema (number, readable_by) VALUES ($1, $2)";
    let inserted = transaction.execute(insert, &[&state[0], &state[1]]).await;
    inserted.map_err(failed)?;
    transaction.commit().await.map_err(failed)?;
    tracing::info!(address, from = found, to = VERSION, "migrated tables");
    Ok(())
}

/// Acquires the lock, which another process holds for minutes while it changes large tables.
async fn acquire_lock(
    transaction: &Transaction<'_>,
    address: &str,
) -> Result<(), tokio_postgres::Error> {
    let locking = "SELECT pg_advisory_xact_lock($1)";
    let mut locked = pin!(transaction.execute(locking, &[&LOCK_KEY]));
    if let Ok(done) = timeout(QUIET, &mut locked).await {
        return done.map(drop);
    }
    tracing::warn!(address, "waiting for another process, which migrates the tables");
    locked.await.map(drop)
}

/// Returns the error of a migration. A user who may only use the tables of another user cannot change them.
fn cannot_migrate(found: u32, error: &tokio_postgres::Error) -> StoreError {
    match error.code() {
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) if found > 0 => unavailable(format!(
            "the tables have format {found}, and this program needs {VERSION}: start it once as the user who owns the tables, \
             and give other users the rights to new ones"
        )),
        _ => unavailable(describe(error)),
    }
}

async fn check_server(client: &ClientWrapper, address: &str) -> Result<()> {
    let version =
        "SELECT current_setting('server_version_num')::integer, current_setting('server_version')";
    let row = client.query_one(version, &[]).await;
    let row = row.map_err(|error| unavailable(describe(&error)))?;
    check_version(address, row.get(0), row.get(1))
}

/// Refuses a server that is too old, by its `server_version_num` and `server_version`.
fn check_version(address: &str, number: i32, version: &str) -> Result<()> {
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
        for (number, version) in
            [(140_022, "14.22 (Debian 14.22-1)"), (90_624, "9.6.24"), (-1, "x")]
        {
            let error = check(number, version).unwrap_err().to_string();
            let expected = format!(
                "postgres://db/tasks is PostgreSQL {version}, expected PostgreSQL 15 or later"
            );
            assert_eq!(error, expected);
        }
    }

    /// Programs of the previous version use the same tables, so later migrations only add to them.
    #[test]
    fn migrations_after_the_oldest_readable_one_only_add() {
        for migration in &MIGRATIONS[READABLE_BY as usize..] {
            let code = migration.lines().filter(|line| !line.trim_start().starts_with("--"));
            let code = code.collect::<Vec<_>>().join(" ").to_uppercase();
            for removing in ["DROP ", "RENAME ", "TRUNCATE ", "ALTER COLUMN", "REPLACE FUNCTION"] {
                assert!(!code.contains(removing), "{removing}: {migration}");
            }
        }
    }
}
