//! `bridge registry`: agent cards in an OCI registry; also opens the registries of `bridge discover`.

use std::path::PathBuf;

use bridge_client::{
    Tls,
    registry::{CardReference, Registry, RegistryAgent, RegistryAuth, RegistryOptions},
};
use bridge_program::{outln, terminal};
use clap::{Args, Subcommand};
use url::Url;

use super::{Result, card_file, discover::Listed, runtime};

const HELP: &str = "\
Examples:
  bridge registry push card.json localhost:5000/agents/plan:v1
  bridge registry list localhost:5000
  bridge registry pull localhost:5000/agents/plan:v1
Cards can also be pushed with oras: oras push localhost:5000/agents/plan:v1 card.json";

/// Push, list and pull agent cards in an OCI registry
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct RegistryCommand {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    login: RegistryLogin,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Push a card, and print its digest, which identifies it permanently
    Push {
        /// The card, a JSON file of any generation
        card: PathBuf,
        /// The target: HOST/REPOSITORY:TAG
        reference: CardReference,
    },
    /// Print the agents of a registry, the newest of each repository
    List {
        /// The registry, such as localhost:5000
        registry: String,
    },
    /// Print a card
    Pull {
        /// The card: HOST/REPOSITORY:TAG or HOST/REPOSITORY@DIGEST
        reference: CardReference,
    },
}

/// The login for a registry. The password comes from the environment, because all users of the machine can
/// see arguments.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct RegistryLogin {
    /// The user name for the registry
    #[arg(long, global = true, value_name = "NAME", requires = "registry_password_env")]
    registry_user: Option<String>,
    /// The environment variable with that user's password
    #[arg(long, global = true, value_name = "NAME", requires = "registry_user")]
    registry_password_env: Option<String>,
}

impl RegistryCommand {
    pub(super) fn execute(&self) -> Result<()> {
        runtime()?.block_on(self.run())
    }

    async fn run(&self) -> Result<()> {
        match &self.action {
            Action::Push { card, reference } => {
                let registry = self.login.at(&reference.registry, Tls::default())?;
                let card = card_file::document(card)?;
                let (repository, tag) = (&reference.repository, &reference.version);
                outln!("{}", registry.push(repository, tag, &card).await?);
            }
            Action::List { registry } => {
                let registry = self.login.open(registry, Tls::default())?;
                for found in registry.agents().await? {
                    let place = format!("{}:{}", found.repository, found.tag);
                    let name = terminal::line(&found.agent.card.name);
                    outln!("{}  {name}  {}", terminal::line(&place), found.digest);
                }
            }
            Action::Pull { reference } => {
                let registry = self.login.at(&reference.registry, Tls::default())?;
                let pulled = registry.pull(&reference.repository, &reference.version).await?;
                outln!("{}", serde_json::to_string_pretty(&pulled.card)?);
            }
        }
        Ok(())
    }
}

impl RegistryLogin {
    /// Returns whether no login was given.
    pub(super) fn is_empty(&self) -> bool {
        self.registry_user.is_none() && self.registry_password_env.is_none()
    }

    /// Opens the registry at a host or address: http on this machine, https elsewhere.
    pub(super) fn open(&self, host: &str, tls: Tls) -> Result<Registry> {
        let url = match host.contains("://") {
            true => Url::parse(host)?,
            // The parser of references decides whether the host is this machine.
            false => {
                format!("{}/any:any", host.trim_end_matches('/')).parse::<CardReference>()?.registry
            }
        };
        self.at(&url, tls)
    }

    fn at(&self, url: &Url, tls: Tls) -> Result<Registry> {
        let options = RegistryOptions {
            auth: self.auth(&|name| std::env::var(name).ok())?,
            tls,
            ..RegistryOptions::default()
        };
        Ok(Registry::new(url, options)?)
    }

    fn auth(&self, environment: &dyn Fn(&str) -> Option<String>) -> Result<RegistryAuth> {
        let (Some(user), Some(name)) = (&self.registry_user, &self.registry_password_env) else {
            return Ok(RegistryAuth::Anonymous);
        };
        let password = environment(name).filter(|password| !password.is_empty());
        let password = password.ok_or_else(|| {
            format!("expected a password in the variable {name}: set and export it")
        })?;
        Ok(RegistryAuth::Basic(user.clone(), password))
    }
}

/// Returns the agents of a registry, or the one with a skill.
pub(super) async fn agents(registry: &Registry, skill: Option<&str>) -> Result<Vec<Listed>> {
    let found = match skill {
        Some(skill) => vec![registry.find(skill).await?],
        None => registry.agents().await?,
    };
    let listed = found.iter().map(|RegistryAgent { agent, repository, tag, digest, .. }| Listed {
        agent: (**agent).clone(),
        card: Some(format!("{repository}:{tag}@{digest}")),
    });
    Ok(listed.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_comes_from_the_environment() {
        let login = |name: &str| RegistryLogin {
            registry_user: Some("me".to_owned()),
            registry_password_env: Some(name.to_owned()),
        };
        let environment = |name: &str| (name == "WORD").then(|| "hunter2".to_owned());
        let auth = login("WORD").auth(&environment).unwrap();
        assert_eq!(auth, RegistryAuth::Basic("me".into(), "hunter2".into()));
        let error = login("NONE").auth(&environment).unwrap_err();
        assert!(error.to_string().contains("NONE"), "{error}");
        let nobody = RegistryLogin::default().auth(&environment).unwrap();
        assert_eq!(nobody, RegistryAuth::Anonymous);
    }

    #[test]
    fn a_registry_is_named_by_its_host_or_address() {
        for (named, is_one) in [
            ("localhost:5000", true),
            ("http://localhost:5000", true),
            ("registry.test/", true),
            ("http://registry.test", false),
            ("a b", false),
        ] {
            let opened = RegistryLogin::default().open(named, Tls::default());
            assert_eq!(opened.is_ok(), is_one, "{named}");
        }
    }

    #[cfg(feature = "tls")]
    #[tokio::test]
    async fn a_registry_may_have_a_certificate_of_the_company() {
        use axum::{Router, routing::get};
        use bridge_program::Limits;

        let folder = tempfile::tempdir().unwrap();
        let (certificate, key) = (folder.path().join("c.pem"), folder.path().join("k.pem"));
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        std::fs::write(&certificate, made.cert.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        let files = crate::tls::Files { certificate: &certificate, key: &key, client_ca: None };
        let read = crate::tls::Certificate::read(files).unwrap();
        let app = Router::new().route("/v2/_catalog", get(async || r#"{"repositories": []}"#));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("https://{}", listener.local_addr().unwrap());
        tokio::spawn(crate::tls::serve(
            Limits::default(),
            listener,
            read,
            app,
            std::future::pending(),
        ));
        let agents = async |tls: Tls| {
            let registry = RegistryLogin::default().open(&address, tls).unwrap();
            agents(&registry, None).await.map(|found| found.len())
        };
        assert!(agents(Tls::default()).await.is_err());
        let trusted = Tls::from_files(Some(&certificate), None).unwrap();
        assert_eq!(agents(trusted).await.unwrap(), 0);
    }
}
