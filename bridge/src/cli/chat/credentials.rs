//! The credentials for the agent. Secrets come from environment variables, because all users of the machine
//! can see arguments.

use bridge_client::{CredentialError, Credentials};
use bridge_program::header_and_variable;
use clap::Args;

/// The credentials for the agent.
#[derive(Clone, Debug, Default, Args)]
pub(in crate::cli) struct CredentialArgs {
    /// Send the bearer token in this environment variable
    #[arg(long, value_name = "NAME")]
    bearer_env: Option<String>,
    /// Send a header with the value of an environment variable, such as X-API-Key=MY_KEY
    #[arg(long, value_name = "HEADER=NAME", value_parser = header_and_variable)]
    header_env: Vec<(String, String)>,
}

/// The reason why a credential cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::cli) enum CredentialArgsError {
    #[error("expected a value in the environment variable {0}: set it, and export it")]
    Missing(String),
    #[error("environment variable {name}: {error}")]
    Unfit { name: String, error: CredentialError },
}

impl CredentialArgs {
    /// Returns whether no credentials were given.
    pub(in crate::cli) fn is_empty(&self) -> bool {
        self.bearer_env.is_none() && self.header_env.is_empty()
    }

    /// Looks the secrets up in `environment`.
    pub(in crate::cli) fn credentials(
        &self,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Credentials, CredentialArgsError> {
        let find = |name: &str| {
            let value = environment(name).filter(|value| !value.is_empty());
            value.ok_or_else(|| CredentialArgsError::Missing(name.into()))
        };
        let mut credentials = Credentials::default();
        if let Some(name) = &self.bearer_env {
            let with = credentials.bearer(&find(name)?);
            credentials = with.map_err(|error| unfit(name, error))?;
        }
        for (header, name) in &self.header_env {
            let with = credentials.header(header, &find(name)?);
            credentials = with.map_err(|error| unfit(name, error))?;
        }
        Ok(credentials)
    }
}

fn unfit(name: &str, error: CredentialError) -> CredentialArgsError {
    let name = name.to_owned();
    CredentialArgsError::Unfit { name, error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_come_from_the_environment() {
        let environment = |name: &str| match name {
            "TOKEN" => Some("hunter2".to_owned()),
            "BROKEN" => Some("hunter2\n".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        let told = |bearer: Option<&str>, headers: &[&str]| {
            let shown = CredentialArgs {
                bearer_env: bearer.map(String::from),
                header_env: headers.iter().map(|said| header_and_variable(said).unwrap()).collect(),
            };
            match shown.credentials(&environment) {
                Ok(credentials) => format!("{credentials:?}"),
                Err(error) => error.to_string(),
            }
        };
        for (bearer, headers, expected) in [
            (None, &[][..], "[]"),
            (Some("TOKEN"), &["X-Key=TOKEN"], r#"["authorization", "x-key"]"#),
            (Some("NONE"), &[], "environment variable NONE: set it"),
            (None, &["X-Key=EMPTY"], "environment variable EMPTY: set it"),
            (Some("BROKEN"), &[], "environment variable BROKEN: expected a secret of one line"),
            (None, &["a b=TOKEN"], "expected the name of an HTTP header, found \"a b\""),
        ] {
            let told = told(bearer, headers);
            assert!(told.contains(expected), "{told}");
            assert!(!told.contains("hunter2"), "{told}");
        }
        assert!(header_and_variable("X-Key").is_err() && header_and_variable("=A").is_err());
    }
}
