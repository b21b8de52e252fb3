//! Finds a Python interpreter of the required version. This happens before anything is installed, because a
//! wrong version would otherwise show as syntax errors of the agent.

use std::{
    fmt, fs,
    io::Read as _,
    path::Path,
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

/// The time limit for asking an interpreter for its version.
const PATIENCE: Duration = Duration::from_secs(10);

/// The interpreter that is used if no version is required.
pub const USUAL: &str = bridge_program::system::PYTHON;

/// The minor versions of Python 3 that are searched for by name, such as `python3.12`.
const MINORS: std::ops::RangeInclusive<u8> = 8..=20;

/// The versions that are acceptable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WantedPython {
    /// Any version.
    Any,
    /// Only `3.N`.
    Exactly(u8),
    /// `3.N` and later.
    From(u8),
}

/// There is no Python of a required version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingPython {
    wanted: WantedPython,
    /// The candidate programs, each with its version or the reason why the version could not be read.
    seen: Vec<(String, String)>,
}

impl fmt::Display for MissingPython {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = match self.wanted {
            WantedPython::Any => "3".to_owned(),
            WantedPython::Exactly(minor) => format!("3.{minor}"),
            WantedPython::From(minor) => format!("3.{minor} or later"),
        };
        write!(f, "Python {version} was not found: ")?;
        let seen: Vec<String> =
            self.seen.iter().map(|(name, said)| format!("`{name}` is {said}")).collect();
        match seen.is_empty() {
            true => f.write_str("there is no Python on the PATH")?,
            false => f.write_str(&seen.join(", "))?,
        }
        let install = match self.wanted {
            WantedPython::Any => 12,
            WantedPython::Exactly(minor) | WantedPython::From(minor) => minor,
        };
        write!(
            f,
            "; install it, with `uv python install 3.{install}` for instance, and put it on the PATH"
        )
    }
}

impl WantedPython {
    /// Returns the versions that `version` names, such as `3.12`; otherwise those that the `requires-python`
    /// of a checkout allows, as far as it names a lowest version.
    pub fn of(version: Option<&str>, checkout: Option<&Path>) -> Self {
        if let Some(minor) = version.and_then(minor) {
            return Self::Exactly(minor);
        }
        let least = checkout.and_then(|folder| {
            let text = fs::read_to_string(folder.join("pyproject.toml")).ok()?;
            let document: toml::Table = text.parse().ok()?;
            let requires = document.get("project")?.get("requires-python")?.as_str()?;
            let mut least = requires.split(',').filter_map(|one| one.trim().strip_prefix(">="));
            minor(least.next()?.trim())
        });
        least.map_or(Self::Any, Self::From)
    }

    fn fits(self, minor: u8) -> bool {
        match self {
            Self::Any => true,
            Self::Exactly(wanted) => minor == wanted,
            Self::From(least) => minor >= least,
        }
    }

    /// Returns the names of candidate programs, the usual one first.
    fn programs(self) -> Vec<String> {
        let named = MINORS.filter(|minor| self.fits(*minor));
        let named = named.map(|minor| format!("python3.{minor}"));
        let others = match self {
            Self::Any => Vec::new(),
            Self::Exactly(_) | Self::From(_) => named.collect(),
        };
        std::iter::once(USUAL.to_owned()).chain(others).collect()
    }

    /// Returns the program to use.
    ///
    /// # Errors
    /// If no candidate has an acceptable version; the error lists those found.
    pub fn find(self) -> Result<String, MissingPython> {
        self.find_by(&version)
    }

    fn find_by(
        self,
        version: &dyn Fn(&str) -> Option<Result<u8, String>>,
    ) -> Result<String, MissingPython> {
        if self == Self::Any {
            return Ok(USUAL.to_owned());
        }
        let mut seen = Vec::new();
        for program in self.programs() {
            match version(&program) {
                None => {}
                Some(Ok(minor)) if self.fits(minor) => return Ok(program),
                Some(Ok(minor)) => seen.push((program, format!("3.{minor}"))),
                Some(Err(said)) => seen.push((program, said)),
            }
        }
        let wanted = self;
        Err(MissingPython { wanted, seen })
    }
}

fn minor(version: &str) -> Option<u8> {
    let rest = version.strip_prefix("3.")?;
    rest.split('.').next()?.parse().ok()
}

/// Returns the minor version of a program, or the reason why it reports none, as with the placeholder programs of
/// version managers; `None` if there is no such program.
fn version(program: &str) -> Option<Result<u8, String>> {
    let mut child = Command::new(program)
        .args(["-I", "-c", "import sys; print(sys.version_info[1])"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let output = child.stdout.take()?;
    let (sender, answer) = mpsc::channel();
    // The thread ends when the program closes its output.
    thread::spawn(move || {
        let mut said = String::new();
        // Output that cannot be read counts as no version.
        let _ = output.take(64).read_to_string(&mut said);
        let _ = sender.send(said);
    });
    let said = answer.recv_timeout(PATIENCE);
    // If this fails, the process has ended already.
    let _ = child.kill();
    let _ = child.wait();
    Some(match said {
        Ok(said) => said.trim().parse().map_err(|_| "a program that does not run".to_owned()),
        Err(_) => Err("a program that does not answer".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(program: &str) -> Option<Result<u8, String>> {
        match program {
            "python3" => Some(Ok(11)),
            "python3.13" => Some(Ok(13)),
            "python3.12" => Some(Err("a program that does not run".to_owned())),
            _ => None,
        }
    }

    #[test]
    fn an_interpreter_is_found_by_its_version() {
        for (wanted, expected) in [
            (WantedPython::Any, "python3"),
            (WantedPython::Exactly(11), "python3"),
            (WantedPython::From(10), "python3"),
            (WantedPython::From(12), "python3.13"),
        ] {
            assert_eq!(wanted.find_by(&machine).as_deref(), Ok(expected));
        }
        let missing = WantedPython::Exactly(12).find_by(&machine).unwrap_err();
        assert_eq!(
            missing.to_string(),
            "Python 3.12 was not found: `python3` is 3.11, `python3.12` is a program that does not run; install it, with `uv \
             python install 3.12` for instance, and put it on the PATH"
        );
    }

    #[test]
    fn a_checkout_says_what_it_needs() {
        let folder = tempfile::tempdir().unwrap();
        let needs = |line: &str| {
            let text = format!("[project]\nname = 'a'\n{line}");
            fs::write(folder.path().join("pyproject.toml"), text).unwrap();
            WantedPython::of(None, Some(folder.path()))
        };
        assert_eq!(needs("requires-python = '>=3.13,<4'"), WantedPython::From(13));
        assert_eq!(needs("requires-python = '>=3.11.4'"), WantedPython::From(11));
        assert_eq!(needs(""), WantedPython::Any);
        assert_eq!(WantedPython::of(Some("3.12"), Some(folder.path())), WantedPython::Exactly(12));
    }
}
