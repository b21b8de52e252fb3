//! The conversations that a service URL gives access to.

use serde::{Deserialize, Serialize};

use crate::caller::Caller;

/// The conversations that a service URL gives access to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ServiceUrlScope {
    /// The bot's agent.
    pub(super) agent: String,
    /// The user.
    pub(super) caller: Caller,
    /// The context.
    pub(super) context: String,
}

/// Returns the owner of records that are looked up by a secret: the secret is the permission.
pub(super) fn records_owner() -> Caller {
    Caller::anonymous()
}
