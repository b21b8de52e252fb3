//! Puts together the environment variables of an agent: those that every program needs or all of the
//! runner's, and the `env` tables with their `${NAME}` references.

mod needed;
mod secret;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use green_agent_scenario::model::Inherits;

/// The variables that `${NAME}` can refer to.
#[derive(Clone, Debug, Default)]
pub struct EnvVars {
    inherited: BTreeMap<String, String>,
    dotenv: BTreeMap<String, String>,
}

/// The environment variables of one agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResolvedEnv {
    /// Whether it inherits all of the runner's environment variables.
    pub inherits_all: bool,
    /// Otherwise, the variables that it inherits. All other variables that are set for an agent override
    /// these.
    pub inherited: BTreeMap<String, String>,
    /// The variables that it gets from `.env`, overridden by its `env` table.
    pub values: BTreeMap<String, String>,
    /// The secret values, to be masked. Values from `.env`, from inherited variables and from `${NAME}` are
    /// secret if their variable's name suggests it and they have more than 3 characters, or if they look
    /// random; texts in the `env` table itself are secret if their variable's name suggests it.
    pub secrets: BTreeSet<String>,
}

/// The reason why an agent's variables could not be put together. No variant contains a value.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum EnvVarsError {
    /// Variables are not set.
    #[error("{role}: {}", needed_variables(missing))]
    Missing {
        role: String,
        /// The keys of its `env` table with the variables that they need, at least one.
        missing: Vec<(String, String)>,
    },
    /// A `${` has no end, or no name.
    #[error(
        "{role}: env.{key} has a `${{` that begins no ${{NAME}} or ${{NAME:-default}}; write `$$` for a dollar sign"
    )]
    Malformed {
        role: String,
        /// The key of its `env` table.
        key: String,
    },
    /// `.env` exists but cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    /// A line of `.env` does not have the form NAME=value.
    #[error(
        "{}:{line}: expected NAME=value{}; put a value with blanks in quotes",
        path.display(),
        name.as_ref().map(|name| format!(" of {name}")).unwrap_or_default()
    )]
    NotDotenv {
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The variable's name, if the line begins with one.
        name: Option<String>,
    },
}

fn needed_variables(missing: &[(String, String)]) -> String {
    let needs =
        |(key, variable): &(String, String)| format!("env.{key} needs the variable {variable}");
    let needs: Vec<String> = missing.iter().map(needs).collect();
    let them = match needs.len() {
        1 => "it",
        _ => "them",
    };
    format!("{}; set {them} in the environment or in .env", needs.join(", "))
}

impl EnvVars {
    /// Returns the variables of this process, overridden by the file `.env` in `working_dir` if there is one.
    /// Variables that are not UTF-8 are left out.
    ///
    /// # Errors
    /// If there is a file `.env` that cannot be read or has an invalid line.
    pub fn load(working_dir: &Path) -> Result<Self, EnvVarsError> {
        let vars = std::env::vars_os();
        let text = vars
            .filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)));
        Ok(Self::new(text.collect(), read_dotenv(&working_dir.join(".env"))?))
    }

    /// Returns these variables; those in `dotenv` override inherited ones.
    pub fn new(inherited: BTreeMap<String, String>, dotenv: BTreeMap<String, String>) -> Self {
        Self { inherited, dotenv }
    }

    /// Returns the inherited variables of an agent, and the values of its `env` table with references replaced:
    /// `${NAME}`, `${NAME:-default}` whose default also replaces an empty value, and `$$` for a dollar sign. Other
    /// dollar signs stay.
    ///
    /// # Errors
    /// If a reference is malformed, or names a variable that is not set and has no default.
    pub fn resolve(
        &self,
        role: &str,
        inherits: &Inherits,
        table: &BTreeMap<String, String>,
    ) -> Result<ResolvedEnv, EnvVarsError> {
        let mut resolved = ResolvedEnv {
            inherits_all: *inherits == Inherits::Everything,
            ..ResolvedEnv::default()
        };
        for (name, value) in &self.dotenv {
            secret::add(&mut resolved.secrets, name, value);
        }
        let given = |(name, _): &(&String, &String)| needed::is_given(name, inherits);
        for (name, value) in self.inherited.iter().chain(&self.dotenv).filter(given) {
            if !needed::by_all(name) {
                secret::add(&mut resolved.secrets, name, value);
            }
            secret::add_passwords(&mut resolved.secrets, value);
        }
        let owned = |(name, value): (&String, &String)| (name.clone(), value.clone());
        if !resolved.inherits_all {
            let inherited = self.inherited.iter().filter(given);
            resolved.inherited = inherited.map(owned).collect();
        }
        resolved.values = self.dotenv.iter().filter(given).map(owned).collect();
        let mut missing = Vec::new();
        for (key, template) in table {
            let value = self.expand(key, template, &mut resolved.secrets, &mut missing);
            let Some(value) = value else {
                let (role, key) = (role.to_owned(), key.clone());
                return Err(EnvVarsError::Malformed { role, key });
            };
            // A text without a reference is a secret if its key suggests it. In a text with a reference, only the value
            // referred to can be a secret.
            if secret::says_secret(key) && !template.contains("${") {
                secret::add(&mut resolved.secrets, key, &value);
            }
            secret::add_passwords(&mut resolved.secrets, &value);
            resolved.values.insert(key.clone(), value);
        }
        match missing.is_empty() {
            true => Ok(resolved),
            false => Err(EnvVarsError::Missing { role: role.to_owned(), missing }),
        }
    }

    /// Returns the variables that are set, that an agent does not get, and that it probably needs: keys of services, and those that
    /// it speaks of.
    pub fn withheld<'a>(
        &'a self,
        inherits: &Inherits,
        table: &BTreeMap<String, String>,
        said: &str,
    ) -> Vec<&'a str> {
        let words: BTreeSet<&str> =
            said.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
        let is_spoken_of =
            |name: &str| name.len() > 3 && name.contains('_') && words.contains(name);
        let is_needed = |name: &str| name.ends_with("API_KEY") || is_spoken_of(name);
        let names = self.inherited.keys().chain(self.dotenv.keys());
        let withheld: BTreeSet<&str> = names
            .filter(|name| !needed::is_given(name, inherits) && !table.contains_key(*name))
            .map(String::as_str)
            .filter(|name| is_needed(name))
            .collect();
        withheld.into_iter().collect()
    }

    /// Returns a variable's value, if it is set and not empty.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    fn get(&self, name: &str) -> Option<&str> {
        let value = self.dotenv.get(name).or_else(|| self.inherited.get(name));
        value.map(String::as_str)
    }

    /// Returns a template with its references replaced, or `None` if one is malformed. References to variables that are not set
    /// are added to `missing`, with the key.
    fn expand(
        &self,
        key: &str,
        template: &str,
        secrets: &mut BTreeSet<String>,
        missing: &mut Vec<(String, String)>,
    ) -> Option<String> {
        let (mut out, mut rest) = (String::new(), template);
        while let Some((before, after)) = rest.split_once('$') {
            out.push_str(before);
            rest = if let Some(after) = after.strip_prefix('{') {
                let (reference, after) = after.split_once('}')?;
                out.push_str(self.value_of(key, reference, secrets, missing)?);
                after
            } else {
                out.push('$');
                after.strip_prefix('$').unwrap_or(after)
            };
        }
        out.push_str(rest);
        Some(out)
    }

    /// Returns the value of a reference. A default is written in the scenario file, so it is not a secret.
    fn value_of<'a>(
        &'a self,
        key: &str,
        reference: &'a str,
        secrets: &mut BTreeSet<String>,
        missing: &mut Vec<(String, String)>,
    ) -> Option<&'a str> {
        let (name, default) = match reference.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (reference, None),
        };
        // A reference within a default would be cut at its own end.
        if !is_name(name) || default.is_some_and(|default| default.contains("${")) {
            return None;
        }
        match (self.get(name), default) {
            (None | Some(""), Some(default)) => Some(default),
            (Some(value), _) => {
                // Either name may suggest a secret: that of the variable, or the one under which the agent
                // gets it.
                secret::add(secrets, &format!("{name}_{key}"), value);
                Some(value)
            }
            (None, None) => {
                missing.push((key.to_owned(), name.to_owned()));
                Some("")
            }
        }
    }
}

/// Returns the secret values in the words of a command, to be masked.
pub fn secrets_of_command(words: &[String]) -> BTreeSet<String> {
    let mut secrets = BTreeSet::new();
    secret::add_command(&mut secrets, words);
    secrets
}

fn is_name(name: &str) -> bool {
    let first = name.chars().next();
    first.is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn read_dotenv(path: &Path) -> Result<BTreeMap<String, String>, EnvVarsError> {
    let unreadable = |source| EnvVarsError::Unreadable { path: path.to_owned(), source };
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        read => read.map_err(unreadable)?,
    };
    let text = text.trim_start_matches('\u{feff}');
    let pairs = dotenvy::from_read_iter(text.as_bytes()).collect::<Result<_, _>>();
    pairs.map_err(|error| match error {
        dotenvy::Error::Io(source) => unreadable(source),
        dotenvy::Error::LineParse(found, _) => not_dotenv(path, text, &found),
        _ => not_dotenv(path, text, ""),
    })
}

/// Returns the error for text that is not a line of `.env`, or not a value. It shows only the text before the `=`,
/// because the rest may be a secret.
fn not_dotenv(path: &Path, text: &str, found: &str) -> EnvVarsError {
    // The text may continue in further lines, if a quote is missing.
    let found = found.lines().next().unwrap_or_default().trim();
    let value = |line: &str| Some(line.split_once('=')?.1.trim().starts_with(found));
    let is_it = |line: &&str| {
        let is_comment = line.trim_start().starts_with('#');
        !is_comment && (line.trim().starts_with(found) || value(line).unwrap_or_default())
    };
    let at = text.lines().position(|line| is_it(&line));
    let name = at.and_then(|at| text.lines().nth(at)?.split_once('='));
    let name = name.map(|(name, _)| name.trim().trim_start_matches("export "));
    EnvVarsError::NotDotenv {
        path: path.to_owned(),
        line: at.unwrap_or_default() + 1,
        name: name.filter(|name| is_name(name)).map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let owned = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        owned.collect()
    }

    fn environment() -> EnvVars {
        EnvVars::new(
            table(&[("KEY", "inherited"), ("EMPTY", ""), ("HOME", "/home/me")]),
            table(&[("KEY", "from-dotenv"), ("FLAG", "yes")]),
        )
    }

    fn value(template: &str) -> Result<String, String> {
        let resolved =
            environment().resolve("purple", &Inherits::Everything, &table(&[("K", template)]));
        resolved.map(|resolved| resolved.values["K"].clone()).map_err(|error| error.to_string())
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
    fn missing_variables_are_named_with_advice() {
        let error = value("${NONE}").unwrap_err();
        assert_eq!(
            error,
            "purple: env.K needs the variable NONE; set it in the environment or in .env"
        );
        for malformed in ["${", "${KEY", "${}", "${1A}", "${A B}", "${:-x}", "${NONE:-${KEY}}"] {
            let error = value(malformed).unwrap_err();
            assert!(error.contains("purple: env.K") && error.contains("$$"), "{error}");
        }
    }

    #[test]
    fn keys_that_an_agent_does_not_get_are_named() {
        let set = ["OPENAI_API_KEY", "SHOP_URL", "OP_URL", "_", "PATH"].map(|name| (name, "x"));
        let environment = EnvVars::new(table(&set), table(&[("GEMINI_API_KEY", "x")]));
        let withheld = |inherits: &Inherits, own: &[(&str, &str)]| {
            environment.withheld(inherits, &table(own), "_ KeyError: 'SHOP_URL' (PATH)").join(" ")
        };
        let nothing = Inherits::default();
        assert_eq!(withheld(&nothing, &[]), "GEMINI_API_KEY OPENAI_API_KEY SHOP_URL");
        let named = Inherits::Named(vec!["OPENAI_*".to_owned()]);
        assert_eq!(withheld(&named, &[("SHOP_URL", "y")]), "GEMINI_API_KEY");
        assert_eq!(withheld(&Inherits::Everything, &[]), "");
    }

    #[test]
    fn all_variables_that_are_missing_are_named() {
        let table = table(&[("A", "${ONE}-${TWO}"), ("B", "${KEY}"), ("C", "${THREE}")]);
        let error = environment().resolve("purple", &Inherits::default(), &table);
        assert_eq!(
            error.unwrap_err().to_string(),
            "purple: env.A needs the variable ONE, env.A needs the variable TWO, env.C needs the variable THREE; set them \
             in the environment or in .env"
        );
    }

    #[test]
    fn values_whose_names_say_so_are_secrets() {
        let table = table(&[
            ("A", "x-${HOME}"),
            ("B", "${NONE:-public}"),
            ("C", "literal"),
            ("C_API_KEY", "literal-key"),
            ("D_API_KEY", "${NONE:-public}"),
            ("SHOP_TOKEN", "${FLAG}-${HOME}"),
            ("SHOP_DB", "postgres://me:in-a-url@db/x"),
            ("SHOP_CACHE", "redis://default-user:default-user@cache/0"),
        ]);
        let resolved = environment().resolve("purple", &Inherits::Everything, &table).unwrap();
        let expected = ["/home/me", "from-dotenv", "in-a-url", "inherited", "literal-key"];
        assert_eq!(resolved.secrets, BTreeSet::from(expected.map(str::to_owned)));
        assert_eq!(resolved.values["KEY"], "from-dotenv");
    }

    #[test]
    fn an_agent_gets_what_every_program_needs_and_what_is_named() {
        let environment = EnvVars::new(
            table(&[
                ("PATH", "/bin"),
                ("LC_ALL", "C"),
                ("https_proxy", "http://me:hunter2@proxy/"),
                ("UV_CACHE_DIR", "/cache"),
                ("UV_PUBLISH_TOKEN", "t-1234"),
                ("GREEN_API_KEY", "of-green"),
                ("PURPLE_API_KEY", "of-purple"),
            ]),
            table(&[("OTHER_KEY", "in-dotenv"), ("PURPLE_MODEL", "small")]),
        );
        let names = |inherits: &Inherits| {
            let resolved = environment.resolve("purple", inherits, &BTreeMap::new());
            let resolved = resolved.unwrap();
            let mut all = resolved.inherited;
            all.extend(resolved.values);
            (Vec::from_iter(all.into_keys()), resolved.secrets)
        };
        let (clean, secrets) = names(&Inherits::default());
        assert_eq!(clean, ["LC_ALL", "PATH", "UV_CACHE_DIR", "https_proxy"]);
        let known = ["hunter2", "in-dotenv"].map(str::to_owned);
        assert_eq!(secrets, BTreeSet::from(known));

        let (named, secrets) = names(&Inherits::Named(vec!["PURPLE_*".to_owned()]));
        assert_eq!(named[2..4], ["PURPLE_API_KEY", "PURPLE_MODEL"]);
        assert!(secrets.contains("of-purple") && !secrets.contains("small"));

        let (all, secrets) = names(&Inherits::Everything);
        assert_eq!(all, ["OTHER_KEY", "PURPLE_MODEL"]);
        assert!(secrets.contains("of-green") && secrets.contains("t-1234"));
    }

    #[test]
    fn a_dotenv_file_overrides_and_its_mistakes_stay_secret() {
        let dir = tempfile::tempdir().unwrap();
        assert!(read_dotenv(&dir.path().join(".env")).unwrap().is_empty());

        std::fs::write(dir.path().join(".env"), "\u{feff}# keys\nPATH='mine'\nexport B=2\n")
            .unwrap();
        let loaded = EnvVars::load(dir.path()).unwrap();
        let inherits = Inherits::Named(vec!["B".to_owned()]);
        let resolved = loaded.resolve("green", &inherits, &table(&[("P", "${PATH}")])).unwrap();
        for (name, value) in [("PATH", "mine"), ("B", "2"), ("P", "mine")] {
            assert_eq!(resolved.values[name], value);
        }

        for (text, said) in [
            (
                "# keys\nA=1\nSECRET='hunter2 without end\nB=2\n",
                ".env:3: expected NAME=value of SECRET;",
            ),
            (
                "# SECRET=two hunter2\nSECRET=two hunter2\n",
                ".env:2: expected NAME=value of SECRET;",
            ),
            ("\n\nhunter2\n", ".env:3: expected NAME=value;"),
        ] {
            std::fs::write(dir.path().join(".env"), text).unwrap();
            let error = EnvVars::load(dir.path()).unwrap_err().to_string();
            assert!(error.contains(said) && !error.contains("hunter2"), "{error}");
        }
    }
}
