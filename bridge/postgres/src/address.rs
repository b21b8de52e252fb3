//! Parses the address of a database: `postgres://USER@HOST/DATABASE`, with options for encryption.

use std::{
    env, fmt, fs,
    path::{Path, PathBuf},
    str::FromStr,
    time::Duration,
};

use percent_encoding::percent_decode_str;
use tokio_postgres::{Config, config::Host};

/// The default limit of connections of one process.
const DEFAULT_CONNECTIONS: usize = 12;

/// The default time after which other processes take over the work of a process that sends no heartbeat.
const DEFAULT_LEASE: Duration = Duration::from_secs(10);

/// The settings of a store in PostgreSQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostgresSettings {
    pub(super) config: Config,
    pub(super) encryption: Encryption,
    /// The largest number of connections for statements, at least 3. The process opens two more: one for notifications
    /// and one for its heartbeat.
    pub connections: usize,
    /// The time after which other processes take over the work of a process that sends no heartbeat.
    pub lease: Duration,
}

/// The encryption of connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Encryption {
    /// Connections are not encrypted.
    Plain,
    /// Connections use TLS. The server's certificate is verified with the root certificates in this file, or else with
    /// those of public authorities.
    Tls { roots: Option<PathBuf> },
}

/// The reason for which an address is refused. It never shows the address, which may contain a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The address is not one of PostgreSQL.
    #[error("expected postgres://USER@HOST/DATABASE: {0}")]
    Invalid(String),
    /// The mode of encryption is not known.
    #[error("sslmode: expected disable, require or verify-full, found {0:?}")]
    SslMode(String),
}

impl FromStr for PostgresSettings {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let (place, query) = text.split_once('?').unwrap_or((text, ""));
        let (mut mode, mut roots, mut others) = (None, None, Vec::new());
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value.to_owned()),
                Some(("sslrootcert", value)) => roots = Some(PathBuf::from(percent_decoded(value))),
                // Only servers that accept writes are used anyway.
                Some(("target_session_attrs", "any" | "primary" | "read-write")) => {}
                // libpq reads several hosts here.
                Some(("host", hosts)) => {
                    others.extend(hosts.split(',').map(|host| format!("host={host}")));
                }
                Some(_) | None => others.push(pair.to_owned()),
            }
        }
        let invalid = |reason: String| AddressError::Invalid(reason);
        let config = format!("{place}?{}", others.join("&")).parse::<Config>();
        // The error's source names keys, which are pieces of a password that was not encoded.
        let config = config.map_err(|error| invalid(error.to_string()))?;
        if config.get_hosts().is_empty() {
            return Err(invalid("it names no host".to_owned()));
        }
        if config.get_user().is_none() {
            return Err(invalid("it names no user".to_owned()));
        }
        let encryption = match mode.as_deref() {
            Some("disable") => Encryption::Plain,
            Some("require" | "verify-full") => Encryption::Tls { roots },
            None if roots.is_none() && config.get_hosts().iter().all(is_local) => Encryption::Plain,
            None => Encryption::Tls { roots },
            Some(found) => {
                let found = found.to_owned();
                return Err(AddressError::SslMode(found));
            }
        };
        Ok(Self { config, encryption, connections: DEFAULT_CONNECTIONS, lease: DEFAULT_LEASE })
    }
}

/// Returns whether the host is this machine.
fn is_local(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            let address = name.parse::<std::net::IpAddr>();
            name == "localhost" || address.is_ok_and(|address| address.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

fn percent_decoded(value: &str) -> String {
    percent_decode_str(value).decode_utf8_lossy().into_owned()
}

impl PostgresSettings {
    /// Returns the configuration of connections to each server, with its password from the address, or else from the
    /// environment variable `PGPASSWORD` or the file that `PGPASSFILE` names (`~/.pgpass` if absent).
    pub(super) fn servers(&self) -> Vec<Config> {
        let hosts = 0..self.config.get_hosts().len();
        hosts.map(|number| self.server(number)).collect()
    }

    fn server(&self, number: usize) -> Config {
        let all = &self.config;
        let mut config = Config::new();
        match &all.get_hosts()[number] {
            Host::Tcp(name) => config.host(name),
            #[cfg(unix)]
            Host::Unix(folder) => config.host_path(folder),
        };
        if let Some(address) = all.get_hostaddrs().get(number) {
            config.hostaddr(*address);
        }
        config
            .port(self.port(number))
            .dbname(self.database())
            .application_name(all.get_application_name().unwrap_or("bridge"))
            .channel_binding(all.get_channel_binding())
            .ssl_negotiation(all.get_ssl_negotiation())
            .load_balance_hosts(all.get_load_balance_hosts());
        if let Some(user) = all.get_user() {
            config.user(user);
        }
        if let Some(options) = all.get_options() {
            config.options(options);
        }
        let external = || self.external_password(number).map(String::into_bytes);
        if let Some(password) = all.get_password().map(<[u8]>::to_owned).or_else(external) {
            config.password(password);
        }
        config
    }

    fn external_password(&self, server: usize) -> Option<String> {
        if let Ok(password) = env::var("PGPASSWORD") {
            return Some(password);
        }
        let usual = || Some(Path::new(&env::var_os("HOME")?).join(".pgpass"));
        let file = env::var_os("PGPASSFILE").map(PathBuf::from).or_else(usual)?;
        let text = fs::read_to_string(file).ok()?;
        self.password_in(&text, server)
    }

    /// Finds the password for a server in a password file, whose lines are `HOST:PORT:DATABASE:USER:PASSWORD`.
    fn password_in(&self, file: &str, server: usize) -> Option<String> {
        let host = match self.config.get_hosts().get(server)? {
            Host::Tcp(name) => name.clone(),
            #[cfg(unix)]
            Host::Unix(_) => "localhost".to_owned(),
        };
        let port = self.port(server).to_string();
        let user = self.config.get_user().unwrap_or_default();
        let wanted = [&host, &port, self.database(), user];
        let lines = file.lines().filter(|line| !line.starts_with('#'));
        let mut entries = lines.map(split_fields).filter(|fields| fields.len() == 5);
        let matches = |fields: &Vec<String>| {
            let mut pairs = fields.iter().zip(wanted);
            pairs.all(|(field, wanted)| field == "*" || field == wanted)
        };
        entries.find(matches)?.pop()
    }

    fn database(&self) -> &str {
        let user = self.config.get_user().unwrap_or_default();
        self.config.get_dbname().unwrap_or(user)
    }

    fn port(&self, host: usize) -> u16 {
        let ports = self.config.get_ports();
        let port = ports.get(host).or_else(|| ports.first());
        port.copied().unwrap_or(5432)
    }
}

/// Splits a line of a password file into its fields. A backslash escapes a colon or a backslash.
fn split_fields(line: &str) -> Vec<String> {
    let (mut fields, mut letters) = (vec![String::new()], line.chars());
    while let Some(letter) = letters.next() {
        let letter = match letter {
            ':' if fields.len() < 5 => {
                fields.push(String::new());
                continue;
            }
            '\\' => letters.next(),
            other => Some(other),
        };
        if let Some(last) = fields.last_mut() {
            last.extend(letter);
        }
    }
    fields
}

/// Shows the address without the password and options.
impl fmt::Display for PostgresSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "postgres://")?;
        if let Some(user) = self.config.get_user() {
            write!(f, "{user}@")?;
        }
        for (number, host) in self.config.get_hosts().iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            match host {
                Host::Tcp(name) => write!(f, "{comma}{name}:{}", self.port(number))?,
                #[cfg(unix)]
                Host::Unix(folder) => write!(f, "{comma}{}", folder.display())?,
            }
        }
        write!(f, "/{}", self.database())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> PostgresSettings {
        text.parse().unwrap()
    }

    #[test]
    fn an_address_is_shown_without_its_password() {
        for (text, shown) in [
            ("postgres://me:s3cret@db/tasks", "postgres://me@db:5432/tasks"),
            ("postgresql://me@db:6000", "postgres://me@db:6000/me"),
            (
                "postgres://me@one:1,two:2/tasks?target_session_attrs=primary",
                "postgres://me@one:1,two:2/tasks",
            ),
            ("postgres:///tasks?host=one,two&port=1,2&user=me", "postgres://me@one:1,two:2/tasks"),
            (
                "postgres:///tasks?host=/run/postgresql&user=me&password=s3cret",
                "postgres://me@/run/postgresql/tasks",
            ),
        ] {
            let settings = settings(text);
            assert_eq!(settings.to_string(), shown);
            assert!(!format!("{settings:?}").contains("s3cret"));
        }
    }

    #[test]
    fn connections_to_other_machines_are_encrypted_by_default() {
        let public = Encryption::Tls { roots: None };
        let own = Encryption::Tls { roots: Some("/ca dir/c++.pem".into()) };
        for (text, encryption) in [
            ("postgres://me@localhost/d", &Encryption::Plain),
            ("postgres://me@[::1]/d", &Encryption::Plain),
            ("postgres:///d?user=me&host=/run", &Encryption::Plain),
            ("postgres://me@db/d", &public),
            ("postgres://me@db/d?sslmode=disable", &Encryption::Plain),
            ("postgres://me@localhost/d?sslmode=verify-full", &public),
            ("postgres://me@db/d?sslrootcert=/ca%20dir/c++.pem&sslmode=require", &own),
        ] {
            assert_eq!(settings(text).encryption, *encryption, "{text}");
        }
    }

    #[test]
    fn a_wrong_address_is_refused_without_showing_it() {
        for (text, expected) in [
            ("postgres://me:s3cret@db/d?sslmode=prefer", "sslmode: expected disable"),
            ("postgres://me:s3cret@db:x/d", "expected postgres://USER@HOST/DATABASE"),
            ("postgres://me:s3cret@db/d?s3cret=1", "expected postgres://USER@HOST/DATABASE"),
            ("postgres://db/d", "it names no user"),
            ("postgres://me@/d", "it names no host"),
        ] {
            let error = text.parse::<PostgresSettings>().unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
            assert!(!error.contains("me:s3cret"), "{error}");
        }
    }

    #[test]
    fn a_password_is_found_in_a_password_file() {
        let file = "# a comment\nother:*:*:*:no\ndb:5432:d:me:a\\:b\\\\c\n*:*:*:*:else\n";
        for (address, password) in
            [("postgres://me@db/d", Some("a:b\\c")), ("postgres://you@db/d", Some("else"))]
        {
            assert_eq!(settings(address).password_in(file, 0).as_deref(), password);
        }
        let servers = settings("postgres://me@none,db/d");
        assert_eq!(servers.password_in(file, 1).as_deref(), Some("a:b\\c"));
        assert_eq!(settings("postgres://me@db/d").password_in("db:1:d", 0), None);
    }
}
