//! What can go wrong with a registry.

use std::time::Duration;

use oci_client::errors::{OciDistributionError, OciErrorCode};

use crate::error::root_cause;

/// What can go wrong with a registry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// The address is not one of a registry.
    #[error("expected a registry such as https://HOST or http://localhost:5000, found {0:?}")]
    Address(String),
    /// What is pushed and pulled would be open to everybody on the way.
    #[error("http is for registries of this machine only: use https://{host}")]
    PlainHttp {
        /// The registry.
        host: String,
    },
    /// A name that no artifact can have.
    #[error("expected HOST/REPOSITORY:TAG or HOST/REPOSITORY@DIGEST in lower case, found {text:?}")]
    Reference {
        /// What was given.
        text: String,
    },
    /// Nobody answered.
    #[error("the registry {registry} cannot be reached: {cause}")]
    Unreachable {
        /// The registry.
        registry: String,
        /// Why not.
        cause: String,
    },
    /// The answer took too long.
    #[error("no answer from the registry {registry} within {limit:?}")]
    Timeout {
        /// The registry.
        registry: String,
        /// The limit.
        limit: Duration,
    },
    /// Something is wrong with the registry, by its own word.
    #[error("the registry {registry} answers with HTTP status {status}")]
    Failing {
        /// The registry.
        registry: String,
        /// The status, 500 or above.
        status: u16,
    },
    /// The registry wants to know who asks, or does not allow it.
    #[error("the registry {registry} does not let us in: set a user and a password, or others")]
    Unauthorized {
        /// The registry.
        registry: String,
    },
    /// There is no such artifact.
    #[error("there is no {reference} in the registry")]
    NotFound {
        /// What was asked for.
        reference: String,
    },
    /// The registry refused, or answered what is none of the protocol.
    #[error("{reference}: the registry answered: {cause}")]
    Refused {
        /// What was asked for.
        reference: String,
        /// What it says.
        cause: String,
    },
    /// What is there is no agent card.
    #[error("{reference} is no agent card: {why}")]
    NotACard {
        /// What was asked for.
        reference: String,
        /// What was expected.
        why: String,
    },
    /// It is too large.
    #[error("{reference} is larger than {limit} bytes")]
    TooLarge {
        /// What was asked for.
        reference: String,
        /// The limit.
        limit: usize,
    },
    /// A list is too long.
    #[error("{reference} lists more than {limit}: expected a registry that is for agent cards")]
    TooMany {
        /// What was asked for.
        reference: String,
        /// The limit.
        limit: usize,
    },
    /// No agent in the registry has the skill.
    #[error("no agent in {registry} has the skill {skill:?}: {}", looked_at(.looked))]
    NoSkill {
        /// The registry.
        registry: String,
        /// What was looked for.
        skill: String,
        /// Every artifact that was looked at, with its skills or why it is no card.
        looked: Vec<String>,
    },
    /// Agents have the skill, and none of them is there.
    #[error("no agent with the skill {skill:?} is healthy: {}", .tried.join("; "))]
    NoneHealthy {
        /// What was looked for.
        skill: String,
        /// Every candidate with what is wrong.
        tried: Vec<String>,
    },
}

/// As many characters of an answer belong into an error.
const TOLD: usize = 300;

fn looked_at(looked: &[String]) -> String {
    match looked.is_empty() {
        true => "it is empty".to_owned(),
        false => format!("looked at {}", looked.join("; ")),
    }
}

impl RegistryError {
    /// The registry's answer to a request is not what it should be.
    pub(super) fn refused(reference: impl Into<String>, cause: &str) -> Self {
        Self::Refused {
            reference: reference.into(),
            cause: cause.trim().chars().take(TOLD).collect(),
        }
    }

    /// Whether the registry itself is the trouble, and not one of its artifacts.
    pub(super) fn is_of_registry(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::Timeout { .. }
            | Self::Failing { .. }
            | Self::Unauthorized { .. }
            | Self::Address(_)
            | Self::PlainHttp { .. } => true,
            Self::Reference { .. }
            | Self::NotFound { .. }
            | Self::Refused { .. }
            | Self::NotACard { .. }
            | Self::TooLarge { .. }
            | Self::TooMany { .. }
            | Self::NoSkill { .. }
            | Self::NoneHealthy { .. } => false,
        }
    }

    /// What the crate reports about something that was asked of a registry.
    pub(super) fn of(error: &OciDistributionError, registry: &str, reference: &str) -> Self {
        let registry = registry.to_owned();
        let reference = reference.to_owned();
        let not_found = |code: &OciErrorCode| {
            matches!(
                code,
                OciErrorCode::ManifestUnknown
                    | OciErrorCode::NameUnknown
                    | OciErrorCode::BlobUnknown
                    | OciErrorCode::NotFound
            )
        };
        match error {
            OciDistributionError::UnauthorizedError { .. }
            | OciDistributionError::AuthenticationFailure(_)
            | OciDistributionError::ServerError {
                code: 401 | 403, ..
            } => Self::Unauthorized { registry },
            OciDistributionError::ImageManifestNotFoundError(_) => Self::NotFound { reference },
            OciDistributionError::ServerError { code: 404, .. } => Self::NotFound { reference },
            OciDistributionError::ServerError {
                code: status @ 500..,
                ..
            } => Self::Failing {
                registry,
                status: *status,
            },
            OciDistributionError::RegistryError { envelope, .. }
                if envelope.errors.iter().any(|error| not_found(&error.code)) =>
            {
                Self::NotFound { reference }
            }
            OciDistributionError::RequestError(error)
                if error.is_connect() || error.is_timeout() || error.is_request() =>
            {
                let cause = root_cause(error);
                Self::Unreachable { registry, cause }
            }
            other => Self::refused(reference, &root_cause(other)),
        }
    }
}
