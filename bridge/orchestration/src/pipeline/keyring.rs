//! Looks up the secrets of a pipeline. Each is meant for one address.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use bridge_client::{CredentialError, Credentials, registry::RegistryAuth};
use bridge_program::secret::Secret;
use url::Url;

use super::model::{AgentAddress, Credential, CredentialForm, SecretSource};

/// The scheme of `user:password` credentials, for servers without a card that defines schemes.
const BASIC: &str = "basic";

/// The secrets of a pipeline. `Debug` shows them as `***`.
#[derive(Clone, Debug, Default)]
pub struct Keyring(Vec<(Credential, Secret)>);

/// A secret for one address.
#[derive(Clone, Debug)]
pub struct Key {
    /// The address that gets the secret.
    pub url: Url,
    shown: CredentialForm,
    secret: Secret,
}

/// The reason why a secret could not be looked up.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum KeyringError {
    /// An environment variable is not set, or empty.
    #[error(
        "config.credential[{index}].secret needs the variable {variable}; set it in the environment or in .env"
    )]
    NoVariable {
        /// The index of the credential, from 0.
        index: usize,
        variable: String,
    },
    /// A file cannot be read.
    #[error("config.credential[{index}].secret needs the file {}", path.display())]
    NoFile {
        /// The index of the credential, from 0.
        index: usize,
        path: PathBuf,
        source: io::Error,
    },
    /// A file is empty.
    #[error("config.credential[{index}].secret: expected a secret in {}, found nothing", path.display())]
    Empty {
        /// The index of the credential, from 0.
        index: usize,
        path: PathBuf,
    },
    /// A credential names a role that no participant has.
    #[error(
        "config.credential[{index}].agent: expected a URL instead of the role {role:?}, because a served \
         pipeline does not know which agent has it"
    )]
    NoSuchRole {
        /// The index of the credential, from 0.
        index: usize,
        role: String,
    },
    /// The secret cannot be sent in the configured way.
    #[error("config.credential[{index}]: {error}")]
    Unfit {
        /// The index of the credential, from 0.
        index: usize,
        /// The cause, without the secret.
        error: CredentialError,
    },
}

impl Keyring {
    /// Looks the secrets up: environment variables with `variable`, files relative to `folder`.
    ///
    /// # Errors
    /// [`KeyringError`], without any secret in it.
    pub fn look_up<'a>(
        credentials: &[Credential],
        variable: impl Fn(&str) -> Option<&'a str>,
        folder: &Path,
    ) -> Result<Self, KeyringError> {
        let mut keys = Vec::new();
        for (index, credential) in credentials.iter().enumerate() {
            let secret = match &credential.secret {
                SecretSource::Env(name) => {
                    let missing = || KeyringError::NoVariable { index, variable: name.clone() };
                    variable(name).map(Secret::new).ok_or_else(missing)?
                }
                SecretSource::File(path) => of_file(&folder.join(path), index)?,
            };
            keys.push((credential.clone(), secret));
        }
        Ok(Self(keys))
    }

    /// Returns the secrets, so that they can be masked.
    pub fn secrets(&self) -> impl Iterator<Item = &Secret> {
        self.0.iter().map(|(_, secret)| secret)
    }

    /// Returns the keys with the addresses of roles filled in. Pass only participants that this process has
    /// started: a request could name its sender's address, which would get the secrets.
    ///
    /// # Errors
    /// [`KeyringError::NoSuchRole`], and [`KeyringError::Unfit`] for a secret that cannot be sent.
    pub fn keys(&self, participants: &[(String, Url)]) -> Result<Vec<Key>, KeyringError> {
        let keys = self.0.iter().enumerate();
        keys.map(|(index, (credential, secret))| {
            let key = Key {
                url: address(&credential.agent, participants, index)?,
                shown: credential.shown.clone(),
                secret: secret.clone(),
            };
            let fits = key.add_to(Credentials::default());
            fits.map_err(|error| KeyringError::Unfit { index, error })?;
            Ok(key)
        })
        .collect()
    }
}

impl Key {
    /// Returns the credentials with this one added.
    ///
    /// # Errors
    /// If the secret cannot be sent in this way; keys of [`Keyring::keys`] can.
    pub fn add_to(&self, all: Credentials) -> Result<Credentials, CredentialError> {
        match &self.shown {
            CredentialForm::Scheme(scheme) => all.named(scheme, self.secret.expose()),
            CredentialForm::Header(header) => all.header(header, self.secret.expose()),
        }
    }

    /// Returns the authentication for a registry, which has no card: a user's name and password, or a token.
    pub(super) fn registry_auth(&self) -> RegistryAuth {
        let secret = self.secret.expose();
        let is_basic = matches!(&self.shown, CredentialForm::Scheme(scheme) if scheme.eq_ignore_ascii_case(BASIC));
        match secret.split_once(':').filter(|_| is_basic) {
            Some((user, password)) => RegistryAuth::Basic(user.to_owned(), password.to_owned()),
            None => RegistryAuth::Bearer(secret.to_owned()),
        }
    }
}

fn of_file(path: &Path, index: usize) -> Result<Secret, KeyringError> {
    let path = path.to_owned();
    match fs::read_to_string(&path) {
        Ok(text) if text.trim().is_empty() => Err(KeyringError::Empty { index, path }),
        Ok(text) => Ok(Secret::new(text.trim())),
        Err(source) => Err(KeyringError::NoFile { index, path, source }),
    }
}

fn address(
    agent: &AgentAddress,
    participants: &[(String, Url)],
    index: usize,
) -> Result<Url, KeyringError> {
    match agent {
        AgentAddress::Url(url) => Ok(url.clone()),
        AgentAddress::Role(role) => {
            let mut named = participants.iter();
            let named = named.find(|(name, _)| name == role);
            let role = role.clone();
            named.map(|(_, url)| url.clone()).ok_or(KeyringError::NoSuchRole { index, role })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credential(agent: &str, shown: CredentialForm, secret: SecretSource) -> Credential {
        let url = Url::parse(agent).ok();
        Credential {
            agent: url.map_or_else(|| AgentAddress::Role(agent.to_owned()), AgentAddress::Url),
            shown,
            secret,
        }
    }

    fn scheme(name: &str) -> CredentialForm {
        CredentialForm::Scheme(name.to_owned())
    }

    fn env(name: &str) -> SecretSource {
        SecretSource::Env(name.to_owned())
    }

    fn looked_up(credentials: &[Credential], folder: &Path) -> Result<Keyring, KeyringError> {
        let variable = |name: &str| (name == "TOKEN").then_some("hunter2");
        Keyring::look_up(credentials, variable, folder)
    }

    #[test]
    fn secrets_are_found_and_never_printed() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.key"), " swordfish\n").unwrap();
        let credentials = [
            credential("a", scheme("bearer"), env("TOKEN")),
            credential("https://h/", scheme("key"), SecretSource::File("a.key".into())),
        ];
        let keyring = looked_up(&credentials, folder.path()).unwrap();
        let secrets: Vec<&str> = keyring.secrets().map(Secret::expose).collect();
        assert_eq!(secrets, ["hunter2", "swordfish"]);
        let participants = [("a".to_owned(), Url::parse("http://127.0.0.1:1/").unwrap())];
        let keys = keyring.keys(&participants).unwrap();
        assert_eq!(keys[0].url.as_str(), "http://127.0.0.1:1/");
        let printed = format!("{keyring:?}{keys:?}");
        assert!(!printed.contains("hunter2") && !printed.contains("swordfish"));
    }

    #[test]
    fn missing_credentials_are_reported_with_advice() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("empty"), "\n").unwrap();
        for (credential, expected) in [
            (
                credential("a", scheme("s"), env("NONE")),
                "config.credential[0].secret needs the variable NONE; set it",
            ),
            (
                credential("a", scheme("s"), SecretSource::File("none".into())),
                "config.credential[0].secret needs the file ",
            ),
            (
                credential("a", scheme("s"), SecretSource::File("empty".into())),
                "config.credential[0].secret: expected a secret in ",
            ),
            (
                credential("a", scheme("s"), env("TOKEN")),
                "config.credential[0].agent: expected a URL instead of the role \"a\"",
            ),
            (
                credential("https://h", CredentialForm::Header("a b".to_owned()), env("TOKEN")),
                "config.credential[0]: expected the name of an HTTP header, found \"a b\"",
            ),
        ] {
            let keyring = looked_up(&[credential], folder.path());
            let error = keyring.and_then(|keyring| keyring.keys(&[])).unwrap_err();
            let told = error.to_string();
            assert!(told.starts_with(expected), "{told}");
            assert!(!told.contains("hunter2"), "{told}");
        }
    }

    #[test]
    fn a_registry_is_shown_a_password_or_a_token() {
        let key = |shown, secret: &str| Key {
            url: Url::parse("https://h/").unwrap(),
            shown,
            secret: Secret::new(secret),
        };
        let basic = RegistryAuth::Basic("me".to_owned(), "a:b".to_owned());
        assert_eq!(key(scheme("basic"), "me:a:b").registry_auth(), basic);
        let bearer = RegistryAuth::Bearer("me:t".to_owned());
        assert_eq!(key(scheme("bearer"), "me:t").registry_auth(), bearer);
    }
}
