//! What stands in an agent's environment: the file `.env`, and the `env` tables with their `${NAME}`.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
};

/// Shorter values are words such as `1` or `yes`, whose masking would only spoil what is shown.
const SHORTEST_SECRET: usize = 4;

/// The variables that `${NAME}` can name.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    inherited: BTreeMap<String, String>,
    dotenv: BTreeMap<String, String>,
}

/// What an agent gets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolved {
    /// To be added to the environment of the runner: `.env`, and over it the `env` table.
    pub values: BTreeMap<String, String>,
    /// What must not be shown: of `.env` and of what a `${NAME}` stood for, the values whose names say that
    /// they are secret and have more than 3 characters, and those that look random.
    pub secrets: BTreeSet<String>,
}

/// Why an agent's environment could not be put together. No variant holds a value.
#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    /// A variable is not there.
    #[error(
        "{role}: env.{key} needs the variable {variable}; set it in the environment or in .env"
    )]
    Missing {
        /// The agent's role.
        role: String,
        /// The key of its `env` table.
        key: String,
        /// The variable's name.
        variable: String,
    },
    /// A `${` without an end, or without a name.
    #[error(
        "{role}: env.{key} has a `${{` that begins no ${{NAME}} or ${{NAME:-default}}; write `$$` for a dollar sign"
    )]
    Malformed {
        /// The agent's role.
        role: String,
        /// The key of its `env` table.
        key: String,
    },
    /// `.env` is there but cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// `.env` is not what it should be.
    #[error("cannot read {}: {place} is not of the form NAME=value", path.display())]
    NotDotenv {
        /// The file.
        path: PathBuf,
        /// Where in it.
        place: String,
    },
}

impl Environment {
    /// The environment of this process, and over it the file `.env` in `working_dir` if there is one.
    /// Variables that are not UTF-8 cannot be named and are left out.
    pub fn load(working_dir: &Path) -> Result<Self, EnvironmentError> {
        let vars = std::env::vars_os();
        let text = vars
            .filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)));
        Ok(Self::new(
            text.collect(),
            read_dotenv(&working_dir.join(".env"))?,
        ))
    }

    /// An environment whose values in `dotenv` come before those that were inherited.
    pub fn new(inherited: BTreeMap<String, String>, dotenv: BTreeMap<String, String>) -> Self {
        Self { inherited, dotenv }
    }

    /// Puts the values into an `env` table: `${NAME}`, `${NAME:-default}` where the default also stands in for
    /// an empty value, and `$$` for a dollar sign. Any other dollar sign stays.
    pub fn resolve(
        &self,
        role: &str,
        table: &BTreeMap<String, String>,
    ) -> Result<Resolved, EnvironmentError> {
        let mut resolved = Resolved {
            values: self.dotenv.clone(),
            secrets: BTreeSet::new(),
        };
        for (name, value) in &self.dotenv {
            add_secret(&mut resolved.secrets, name, value);
        }
        for (key, template) in table {
            let value = self.expand(key, template, &mut resolved.secrets);
            let value = value.map_err(|problem| problem.at(role, key))?;
            resolved.values.insert(key.clone(), value);
        }
        Ok(resolved)
    }

    /// A variable's value, if it is set and not empty.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    fn get(&self, name: &str) -> Option<&str> {
        let value = self.dotenv.get(name).or_else(|| self.inherited.get(name));
        value.map(String::as_str)
    }

    fn expand(
        &self,
        key: &str,
        template: &str,
        secrets: &mut BTreeSet<String>,
    ) -> Result<String, Problem> {
        let mut out = String::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('$') {
            out.push_str(before);
            rest = if let Some(after) = after.strip_prefix('{') {
                let (reference, after) = after.split_once('}').ok_or(Problem::Malformed)?;
                out.push_str(self.value_of(key, reference, secrets)?);
                after
            } else {
                out.push('$');
                after.strip_prefix('$').unwrap_or(after)
            };
        }
        out.push_str(rest);
        Ok(out)
    }

    /// A default is written in the scenario file, so it is no secret.
    fn value_of<'a>(
        &'a self,
        key: &str,
        reference: &'a str,
        secrets: &mut BTreeSet<String>,
    ) -> Result<&'a str, Problem> {
        let (name, default) = match reference.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (reference, None),
        };
        if !is_name(name) {
            return Err(Problem::Malformed);
        }
        match (self.get(name), default) {
            (None | Some(""), Some(default)) => Ok(default),
            (Some(value), _) => {
                // Either name may say so: that of the variable, or the one under which the agent gets it.
                add_secret(secrets, &format!("{name}_{key}"), value);
                Ok(value)
            }
            (None, None) => Err(Problem::Missing(name.to_owned())),
        }
    }
}

/// What is wrong with a value, before it is known whose it is.
enum Problem {
    Missing(String),
    Malformed,
}

impl Problem {
    fn at(self, role: &str, key: &str) -> EnvironmentError {
        let (role, key) = (role.to_owned(), key.to_owned());
        match self {
            Self::Missing(variable) => EnvironmentError::Missing {
                role,
                key,
                variable,
            },
            Self::Malformed => EnvironmentError::Malformed { role, key },
        }
    }
}

/// Output is masked line by line, so each line of a longer secret, such as a key file, is one.
fn add_secret(secrets: &mut BTreeSet<String>, name: &str, value: &str) {
    if says_secret(name) || looks_random(value) {
        let pieces = std::iter::once(value).chain(value.lines().map(str::trim));
        let long_enough = pieces.filter(|piece| piece.chars().count() >= SHORTEST_SECRET);
        secrets.extend(long_enough.map(str::to_owned));
    }
    let url = url::Url::parse(value).ok();
    let password = url.as_ref().and_then(url::Url::password);
    let password = password.filter(|password| password.chars().count() >= SHORTEST_SECRET);
    secrets.extend(password.map(str::to_owned));
}

/// Whether a variable's name says that its value is secret.
fn says_secret(name: &str) -> bool {
    const WORDS: [&str; 10] = [
        "APIKEY",
        "AUTH",
        "COOKIE",
        "CREDENTIAL",
        "CREDENTIALS",
        "KEY",
        "PASSWD",
        "PASSWORD",
        "SECRET",
        "TOKEN",
    ];
    let name = name.to_ascii_uppercase();
    name.split('_').any(|word| WORDS.contains(&word))
}

/// Whether a value looks like a key: a long run of letters and digits, as no word or name has one. Names
/// of models, modes and hosts stay readable.
fn looks_random(value: &str) -> bool {
    const LONG: usize = 16;
    let runs = value.split(|c: char| !c.is_ascii_alphanumeric());
    let has = |run: &str, kind: fn(&u8) -> bool| run.bytes().any(|byte| kind(&byte));
    runs.filter(|run| run.len() >= LONG)
        .any(|run| has(run, u8::is_ascii_digit) && has(run, u8::is_ascii_alphabetic))
}

fn is_name(name: &str) -> bool {
    let first = name.chars().next();
    first.is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn read_dotenv(path: &Path) -> Result<BTreeMap<String, String>, EnvironmentError> {
    let pairs = dotenvy::from_path_iter(path).and_then(Iterator::collect);
    match pairs {
        Ok(pairs) => Ok(pairs),
        Err(dotenvy::Error::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
            Ok(BTreeMap::new())
        }
        Err(dotenvy::Error::Io(source)) => Err(EnvironmentError::Unreadable {
            path: path.to_owned(),
            source,
        }),
        Err(dotenvy::Error::LineParse(line, _)) => Err(not_dotenv(path, &line)),
        Err(_) => Err(not_dotenv(path, "")),
    }
}

/// The line itself may hold a secret, so it is named by what stands before the `=` alone.
fn not_dotenv(path: &Path, line: &str) -> EnvironmentError {
    let place = match line.split_once('=') {
        Some((name, _)) if is_name(name.trim()) => format!("the line of {}", name.trim()),
        Some(_) | None => "a line".to_owned(),
    };
    EnvironmentError::NotDotenv {
        path: path.to_owned(),
        place,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let owned = pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        owned.collect()
    }

    fn environment() -> Environment {
        Environment::new(
            table(&[("KEY", "inherited"), ("EMPTY", ""), ("HOME", "/home/me")]),
            table(&[("KEY", "from-dotenv"), ("FLAG", "yes")]),
        )
    }

    fn value(template: &str) -> Result<String, String> {
        let resolved = environment().resolve("purple", &table(&[("K", template)]));
        resolved
            .map(|resolved| resolved.values["K"].clone())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn references_are_replaced() {
        let cases = [
            ("plain", "plain"),
            ("${KEY}", "from-dotenv"),
            ("Bearer ${KEY}!", "Bearer from-dotenv!"),
            ("${HOME}/x:${FLAG}", "/home/me/x:yes"),
            ("${NONE:-default}", "default"),
            ("${EMPTY:-default}", "default"),
            ("${KEY:-default}", "from-dotenv"),
            ("${NONE:-}", ""),
            ("${EMPTY}", ""),
            ("$$5 $HOME $", "$5 $HOME $"),
            ("$${KEY}", "${KEY}"),
        ];
        for (template, expected) in cases {
            assert_eq!(value(template).as_deref(), Ok(expected), "{template}");
        }
    }

    #[test]
    fn what_is_missing_is_named_with_what_to_do() {
        let error = value("${NONE}").unwrap_err();
        assert_eq!(
            error,
            "purple: env.K needs the variable NONE; set it in the environment or in .env"
        );
        for malformed in ["${", "${KEY", "${}", "${1A}", "${A B}", "${:-x}"] {
            let error = value(malformed).unwrap_err();
            assert!(
                error.contains("purple: env.K") && error.contains("$$"),
                "{error}"
            );
        }
    }

    #[test]
    fn values_whose_names_say_so_are_secrets() {
        let table = table(&[
            ("A", "x-${HOME}"),
            ("B", "${NONE:-public}"),
            ("C", "literal"),
            ("SHOP_TOKEN", "${FLAG}-${HOME}"),
        ]);
        let resolved = environment().resolve("purple", &table).unwrap();
        let expected = ["/home/me", "from-dotenv"].map(str::to_owned);
        assert_eq!(resolved.secrets, BTreeSet::from(expected));
        assert_eq!(resolved.values["KEY"], "from-dotenv");
    }

    #[test]
    fn other_values_are_secrets_only_if_they_look_random() {
        let secrets_of = |name: &str, value: &str| {
            let mut secrets = BTreeSet::new();
            add_secret(&mut secrets, name, value);
            Vec::from_iter(secrets)
        };
        for readable in [
            "text",
            "gemini-2.5-flash",
            "claude-sonnet-4-5-20250929",
            "http://127.0.0.1:9009/x",
        ] {
            assert!(secrets_of("MODE", readable).is_empty(), "{readable}");
        }
        assert_eq!(
            secrets_of("MODE", "sk-proj-4fT7xQ9bZr2LmN8w"),
            ["sk-proj-4fT7xQ9bZr2LmN8w"]
        );
        assert_eq!(
            secrets_of("DATABASE", "postgres://me:hunter2@db/x"),
            ["hunter2"]
        );
        assert_eq!(secrets_of("OPENAI_API_KEY", "text"), ["text"]);
        assert!(secrets_of("MAX_TOKENS", "text").is_empty());
    }

    #[test]
    fn every_line_of_a_long_secret_is_one() {
        let mut secrets = BTreeSet::new();
        let key = "-----BEGIN-----\n  MIIEvQ\n-----END-----";
        add_secret(&mut secrets, "SIGNING_KEY", key);
        let lines = [key, "-----BEGIN-----", "MIIEvQ", "-----END-----"].map(str::to_owned);
        assert_eq!(secrets, BTreeSet::from(lines));
    }

    #[test]
    fn a_dotenv_file_overrides_and_its_mistakes_stay_secret() {
        let dir = tempfile::tempdir().unwrap();
        assert!(read_dotenv(&dir.path().join(".env")).unwrap().is_empty());

        std::fs::write(dir.path().join(".env"), "# keys\nPATH='mine'\nexport B=2\n").unwrap();
        let loaded = Environment::load(dir.path()).unwrap();
        let resolved = loaded
            .resolve("green", &table(&[("P", "${PATH}")]))
            .unwrap();
        assert_eq!(
            resolved.values,
            table(&[("PATH", "mine"), ("B", "2"), ("P", "mine")])
        );

        std::fs::write(dir.path().join(".env"), "SECRET='hunter2 without end\n").unwrap();
        let error = Environment::load(dir.path()).unwrap_err().to_string();
        assert!(
            error.contains("SECRET") && !error.contains("hunter2"),
            "{error}"
        );
    }
}
