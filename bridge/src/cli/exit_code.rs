//! The exit codes of errors with which commands end.

use std::error::Error;

use bridge_client::{TlsFileError, discovery::DiscoveryError, registry::RegistryError};
use bridge_program::Exit;
pub(super) use bridge_program::{Failure, failure};

use super::{
    admin::AdminClientError, card_file::CardFileError, chat::credentials::CredentialArgsError,
    discover::NotDiscovered, doctor::BotUnreachable, serve, store::StoreMissing,
};
use crate::{
    auth::{FetchError, TokenError},
    config::{ConfigErrors, Problem},
    host::HostError,
    store::StoreError,
};

/// Returns the exit code for an error, as listed in docs/reference/exit-codes.md.
pub(super) fn of(error: &(dyn Error + 'static)) -> Exit {
    if let Some(Failure { exit, .. }) = error.downcast_ref() {
        return *exit;
    }
    if let Some(ConfigErrors(errors)) = error.downcast_ref() {
        let is_unreadable = |problem: &Problem| {
            matches!(problem, Problem::Unreadable(_) | Problem::NotUtf8(_) | Problem::NoFile { .. })
        };
        return match errors.iter().any(|error| is_unreadable(&error.problem)) {
            true => Exit::Unreadable,
            false => Exit::Failed,
        };
    }
    let is_assertion = matches!(error.downcast_ref(), Some(TokenError::Assertion { .. }));
    if error.is::<CardFileError>()
        || error.is::<TlsFileError>()
        || is_assertion
        || is_unreadable_tls(error)
    {
        return Exit::Unreadable;
    }
    if error.is::<CredentialArgsError>()
        || matches!(error.downcast_ref(), Some(StoreMissing::Memory))
    {
        return Exit::Usage;
    }
    // A service manager starts the program again, which may succeed then.
    let is_missing = error.is::<serve::LeaseLost>()
        || error.is::<serve::ListenError>()
        || error.is::<bridge_program::ListenError>()
        || error.is::<StoreError>()
        || error.is::<StoreMissing>()
        || error.is::<BotUnreachable>()
        || matches!(error.downcast_ref(), Some(HostError::Recover(_)));
    if is_missing || is_unreachable(error) { Exit::Infrastructure } else { Exit::Failed }
}

/// Returns whether the bridge's own certificate, or a file beside it, cannot be read.
#[cfg(feature = "tls")]
fn is_unreadable_tls(error: &(dyn Error + 'static)) -> bool {
    matches!(error.downcast_ref(), Some(crate::tls::TlsError::File { .. }))
}

#[cfg(not(feature = "tls"))]
fn is_unreadable_tls(_: &(dyn Error + 'static)) -> bool {
    false
}

/// Returns whether the error means that another program did not answer.
fn is_unreachable(error: &(dyn Error + 'static)) -> bool {
    if let Some(NotDiscovered { error, .. }) = error.downcast_ref() {
        return matches!(
            error,
            DiscoveryError::Unreachable { .. } | DiscoveryError::Timeout { .. }
        );
    }
    let registry = matches!(
        error.downcast_ref(),
        Some(
            RegistryError::Unreachable { .. }
                | RegistryError::Timeout { .. }
                | RegistryError::Failing { .. }
        )
    );
    let token_endpoint = matches!(
        error.downcast_ref(),
        Some(TokenError::Endpoint(FetchError::Unreachable { .. } | FetchError::Timeout { .. }))
    );
    registry
        || token_endpoint
        || matches!(error.downcast_ref(), Some(AdminClientError::Absent { .. }))
}
