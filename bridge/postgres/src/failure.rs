//! Converts errors of the database into those of stores.

use std::{error::Error as _, io};

use deadpool_postgres::{PoolError, TimeoutType};
use rustls::CertificateError;
use tokio_postgres::{Error, error::SqlState};

use crate::PostgresSettings;
use bridge_store::StoreError;

/// The effect of a failed statement.
#[derive(Debug)]
pub(super) enum Failure {
    /// The transaction was rolled back because of a concurrent one, and can be retried at once.
    RolledBack,
    /// The connection was lost or the server is stopping: it is unknown whether the transaction was committed.
    Unknown(String),
    /// Nothing was changed.
    Refused(StoreError),
}

impl Failure {
    /// Classifies the error of a statement.
    pub(super) fn new(error: &Error) -> Self {
        let Some(reported) = error.as_db_error() else {
            return Self::Unknown(describe(error));
        };
        let code = reported.code();
        let reason = describe(error);
        if [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED].contains(code) {
            return Self::RolledBack;
        }
        match code.code().get(..2) {
            // Connection errors, and stops by the operator or after a crash.
            Some("08") => Self::Unknown(reason),
            // Another server may accept writes.
            Some(_) if is_read_only(error) => Self::Unknown(reason),
            Some("57") if *code != SqlState::QUERY_CANCELED => Self::Unknown(reason),
            _ => Self::Refused(to_store_error(code, reason)),
        }
    }

    pub(super) fn into_error(self) -> StoreError {
        match self {
            Self::RolledBack => unavailable("the transaction conflicted with too many others"),
            Self::Unknown(reason) => unavailable(reason),
            Self::Refused(error) => error,
        }
    }
}

fn to_store_error(code: &SqlState, reason: String) -> StoreError {
    match code.code().get(..2) {
        // The bridge's own SQL functions raise it if this process was taken for dead.
        Some("BR") => unavailable(reason),
        _ if *code == SqlState::DISK_FULL => StoreError::Full { doing: "the database".to_owned() },
        // A statement that took too long, a read-only server, and a server without memory or connections left.
        Some("57" | "25" | "53") => unavailable(reason),
        _ => StoreError::Io {
            doing: "the database refused a statement".to_owned(),
            error: io::Error::other(reason),
        },
    }
}

/// Returns whether the server accepts no writes: it is a standby, or its operator has stopped all writes.
fn is_read_only(error: &Error) -> bool {
    error.code() == Some(&SqlState::READ_ONLY_SQL_TRANSACTION)
}

pub(super) fn describe_pool_error(error: &PoolError) -> String {
    match error {
        PoolError::Backend(error) => describe(error),
        PoolError::Timeout(TimeoutType::Create) => "no server has answered in time".to_owned(),
        PoolError::Timeout(_) => "no connection became free in time".to_owned(),
        other => other.to_string(),
    }
}

pub(super) fn unavailable(reason: impl Into<String>) -> StoreError {
    StoreError::Unavailable { reason: reason.into() }
}

/// Adds the address of the database to the reason why it is not available.
pub(super) fn at(settings: &PostgresSettings, error: StoreError) -> StoreError {
    match error {
        StoreError::Unavailable { reason } => unavailable(format!("{settings}: {reason}")),
        other => other,
    }
}

/// Returns the error of a write by a process that other processes took for dead.
pub(super) fn taken_for_dead() -> StoreError {
    unavailable("other bridges have taken over, because this one sent no heartbeat in time")
}

/// The advice for operators if connections do not have separate sessions.
const POOLING_ADVICE: &str = "; a pooler in front of the database must use session pooling";

/// Returns the error of a database that gives two connections one session.
pub(super) fn shared_session() -> StoreError {
    unavailable(format!("two connections have the same session{POOLING_ADVICE}"))
}

/// Describes an error with its cause, which has the details.
pub(super) fn describe(error: &Error) -> String {
    match error.as_db_error() {
        // The detail can contain data, so it is left out.
        Some(reported) => {
            let code = reported.code();
            format!("{} ({}){}", reported.message(), code.code(), advice_on(code))
        }
        None => match error.source() {
            Some(cause) => format!("{error}: {cause}{}", advice(cause)),
            None => error.to_string(),
        },
    }
}

/// Returns advice for operators on an error that the server has reported.
fn advice_on(code: &SqlState) -> &'static str {
    let of_poolers = [SqlState::UNDEFINED_PSTATEMENT, SqlState::DUPLICATE_PSTATEMENT];
    if of_poolers.contains(code) {
        POOLING_ADVICE
    } else if *code == SqlState::INSUFFICIENT_PRIVILEGE {
        "; to create the tables, the user needs GRANT CREATE ON DATABASE; to use those of another user, rights to the \
         schema bridge and its tables and sequences"
    } else {
        ""
    }
}

/// Returns advice for operators if the server, its certificate or its encryption is refused.
fn advice(cause: &(dyn std::error::Error + 'static)) -> &'static str {
    let tls = cause
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref)
        .and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match tls {
        Some(rustls::Error::InvalidCertificate(reason)) => match reason {
            CertificateError::UnknownIssuer => {
                "; the server's certificate is of an authority that is not trusted here: name the \
                 file with the authority's certificate in sslrootcert"
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "; the server's certificate is for another name: use a name that is in the \
                 certificate as the host"
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "; the server's certificate is too old: renew it"
            }
            _ => "",
        },
        Some(_) => "",
        None if cause.to_string().contains("does not support TLS") => {
            "; turn it on there (ssl = on), or set sslmode=disable if others may read the traffic"
        }
        None if cause.to_string() == "password missing" => {
            "; set it in PGPASSWORD, or in a line HOST:PORT:DATABASE:USER:PASSWORD of the file that PGPASSFILE names"
        }
        None if cause.to_string().contains("does not allow writes") => {
            "; it is a standby, and no primary is reached at this address: promote it, or start the primary. Or the \
             database or user has default_transaction_read_only = on"
        }
        None => "",
    }
}
