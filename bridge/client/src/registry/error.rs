//! The errors of registries.

use std::time::Duration;

/// The result of an operation on a registry.
pub type Result<T, E = RegistryError> = std::result::Result<T, E>;

/// An error of a registry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum RegistryError {
    /// The address is no address of a registry.
    #[error("expected a registry such as https://HOST or http://localhost:5000, found {0:?}")]
    Address(String),
    /// Plain HTTP would send cards and credentials unencrypted over the network.
    #[error("http is for registries of this machine only: use https://{0}")]
    PlainHttp(String),
    /// The name is no valid reference of an artifact.
    #[error("expected HOST/REPOSITORY:TAG or HOST/REPOSITORY@DIGEST in lower case, found {0:?}")]
    Reference(String),
    /// The registry cannot be reached.
    #[error("the registry {registry} cannot be reached: {cause}")]
    Unreachable { registry: String, cause: String },
    /// The answer took too long.
    #[error("no answer from the registry {registry} within {limit:?}")]
    Timeout { registry: String, limit: Duration },
    /// The registry answered with a server error.
    #[error("the registry {registry} answers with HTTP status {status}")]
    Failing {
        registry: String,
        /// The status, 500 or above.
        status: u16,
    },
    /// The registry requires other credentials or forbids the request.
    #[error("the registry {0} refuses access: set a user and a password, or other ones")]
    Unauthorized(String),
    /// There is no such artifact.
    #[error("there is no {0} in the registry")]
    NotFound(String),
    /// The registry refused the request or gave an invalid answer.
    #[error("{reference}: the registry answered: {cause}")]
    Refused { reference: String, cause: String },
    /// The artifact is no agent card.
    #[error("{reference} is no agent card: {why}")]
    NotACard { reference: String, why: String },
    /// The content is too large.
    #[error("{reference} is larger than {limit} bytes")]
    TooLarge { reference: String, limit: usize },
    /// A list is too long.
    #[error("{reference} lists more than {limit}: expected a registry of agent cards")]
    TooMany { reference: String, limit: usize },
    /// No agent in the registry has the skill.
    #[error("no agent in {registry} has the skill {skill:?}: {}", looked_at(.looked))]
    NoSkill {
        registry: String,
        skill: String,
        /// Every artifact of the registry, with its skills or the reason why it is no card.
        looked: Vec<String>,
    },
    /// Agents have the skill, but none of them can be reached.
    #[error("no agent with the skill {skill:?} is healthy: {}", listed(.tried))]
    NoneHealthy {
        skill: String,
        /// Every candidate with its error.
        tried: Vec<String>,
    },
}

/// The number of characters of an answer kept in an error.
const TOLD: usize = 300;

/// The number of candidates that a message lists.
const LISTED: usize = 10;

/// Returns the first candidates for a message, with the number of the others: a registry may have thousands.
pub fn listed(all: &[String]) -> String {
    let listed = all.iter().take(LISTED).map(String::as_str).collect::<Vec<_>>().join("; ");
    match all.len().saturating_sub(LISTED) {
        0 => listed,
        others => format!("{listed}; and {others} more"),
    }
}

fn looked_at(looked: &[String]) -> String {
    match looked.is_empty() {
        true => "it is empty".to_owned(),
        false => format!("looked at {}", listed(looked)),
    }
}

impl RegistryError {
    /// Creates the error of an invalid answer of the registry.
    pub(super) fn refused(reference: impl Into<String>, cause: &str) -> Self {
        Self::Refused {
            reference: reference.into(),
            cause: cause.trim().chars().take(TOLD).collect(),
        }
    }

    /// Returns whether the error is the registry's and not that of one artifact.
    pub(super) fn is_of_registry(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. }
                | Self::Timeout { .. }
                | Self::Failing { .. }
                | Self::Unauthorized(_)
                | Self::Address(_)
                | Self::PlainHttp(_)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_lists_some_candidates_that_were_tried() {
        let tried = vec!["a: HTTP status 503".to_owned(); LISTED + 3];
        let error = RegistryError::NoneHealthy { skill: "plan".to_owned(), tried };
        assert!(error.to_string().ends_with("503; a: HTTP status 503; and 3 more"), "{error}");
    }

    #[test]
    fn a_message_lists_some_artifacts_and_counts_the_others() {
        let looked = |count: usize| looked_at(&vec!["a".to_owned(); count]);
        assert_eq!(looked(0), "it is empty");
        assert_eq!(looked(2), "looked at a; a");
        assert!(looked(LISTED).ends_with("a; a"));
        assert!(looked(LISTED + 7).ends_with("a; a; and 7 more"));
    }
}
