//! Checking and installing what scenarios require.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    fs::{File, TryLockError},
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::time::{sleep, timeout};

use super::{
    environment::{EnvSpec, Manager},
    event::InstallEvent,
};
use crate::{
    participant::{AgentExit, AgentProcess, Keeper, Launch, StartError, path},
    scenario::model::Requirement,
};

/// How long one folder may take.
const INSTALL_LIMIT: Duration = Duration::from_secs(600);

/// How long another run's installation of the same is waited for: until its own limit has ended it.
const LOCK_LIMIT: Duration = Duration::from_secs(630);

const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// From SIGTERM to SIGKILL for pip and npm.
const GRACE: Duration = Duration::from_secs(2);

/// Checks and installs requirements below one cache folder, which any number of runs may share.
#[derive(Clone, Debug)]
pub struct Installer {
    /// The folder that holds the environments, an absolute path.
    pub cache: PathBuf,
    /// Ends pip and npm when the runner ends.
    pub keeper: Keeper,
}

/// What an agent must be given to find its requirements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    /// Folders to put before PATH.
    pub path_prepend: Vec<PathBuf>,
    /// `VIRTUAL_ENV` and `NODE_PATH`, where they apply.
    pub env: BTreeMap<String, String>,
}

/// Requirements that are not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Missing {
    /// At least one.
    pub requirements: BTreeSet<Requirement>,
}

impl Missing {
    /// Whether [`Installer::install`] can bring all of them.
    pub fn is_installable(&self) -> bool {
        self.requirements
            .iter()
            .all(|requirement| match requirement {
                Requirement::Python(_) | Requirement::Npm(_) => true,
                Requirement::Command(_) => false,
            })
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each = self
            .requirements
            .iter()
            .map(|requirement| match requirement {
                Requirement::Python(package) => format!("python:{package} is not installed"),
                Requirement::Npm(package) => format!("npm:{package} is not installed"),
                Requirement::Command(name) => {
                    format!("the command `{name}` is not on the PATH, {}", hint(name))
                }
            });
        f.write_str(&each.collect::<Vec<_>>().join("; "))
    }
}

fn hint(command: &str) -> &'static str {
    match command {
        "python3" | "python" => "install Python 3.10 or later",
        "node" | "npm" | "npx" => "install Node.js, which brings it",
        "uv" | "uvx" => "install uv",
        "cargo" | "rustc" => "install Rust with rustup",
        _ => "install it with this machine's package manager",
    }
}

/// Why requirements could not be installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The program that installs is not there.
    #[error(
        "{what} cannot be installed: `{program}` is not on the PATH, {}",
        hint(program)
    )]
    NoManager {
        /// What should be installed.
        what: String,
        /// `python3` or `npm`.
        program: &'static str,
    },
    /// The cache cannot be written.
    #[error("{what} cannot be installed: cannot write {}; make it writable or set XDG_CACHE_HOME", path.display())]
    Cache {
        /// What should be installed.
        what: String,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another run kept the folder to itself for too long.
    #[error("{what} cannot be installed: another run holds {} for more than {limit:?}; end it and try again", lock.display())]
    Locked {
        /// What should be installed.
        what: String,
        /// The lock file.
        lock: PathBuf,
        /// How long was waited.
        limit: Duration,
    },
    /// A command could not be started.
    #[error("{what} cannot be installed")]
    Start {
        /// What should be installed.
        what: String,
        /// Why.
        source: StartError,
    },
    /// A command failed.
    #[error("{what} cannot be installed: `{command}` {exit}, see {}:\n{}", log.display(), last_lines.join("\n"))]
    Failed {
        /// What should be installed.
        what: String,
        /// The command, quoted for a shell.
        command: String,
        /// How it ended.
        exit: AgentExit,
        /// What it printed last.
        last_lines: Vec<String>,
        /// All that it printed.
        log: PathBuf,
    },
    /// A command did not end in time.
    #[error("{what} cannot be installed: `{command}` did not end within {limit:?}, see {}:\n{}", log.display(), last_lines.join("\n"))]
    TimedOut {
        /// What should be installed.
        what: String,
        /// The command, quoted for a shell.
        command: String,
        /// How long the whole installation may take.
        limit: Duration,
        /// What it printed last.
        last_lines: Vec<String>,
        /// All that it printed.
        log: PathBuf,
    },
    /// What can be installed is, but something else is missing.
    #[error(transparent)]
    Missing(#[from] Missing),
}

/// `$XDG_CACHE_HOME/green-agent`, or `~/.cache/green-agent`; `None` on a machine where neither is known.
pub fn default_cache() -> Option<PathBuf> {
    let absolute = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let base = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(base.join("green-agent"))
}

impl Installer {
    /// The folders that these requirements need; commands need none.
    pub fn plan(&self, requirements: &BTreeSet<Requirement>) -> Vec<EnvSpec> {
        let (mut python, mut npm) = (BTreeSet::new(), BTreeSet::new());
        for requirement in requirements {
            match requirement {
                Requirement::Python(package) => _ = python.insert(package.as_str()),
                Requirement::Npm(package) => _ = npm.insert(package.as_str()),
                Requirement::Command(_) => {}
            }
        }
        [(Manager::Python, python), (Manager::Npm, npm)]
            .into_iter()
            .filter(|(_, packages)| !packages.is_empty())
            .map(|(manager, packages)| EnvSpec::new(&self.cache, manager, &packages))
            .collect()
    }

    /// Whether all of them are there, and then what agents need to find them. Installs nothing.
    pub fn check(&self, requirements: &BTreeSet<Requirement>) -> Result<Prepared, Missing> {
        let plan = self.plan(requirements);
        let ready = |manager| {
            plan.iter()
                .any(|spec| spec.manager == manager && spec.is_ready())
        };
        let (python, npm) = (ready(Manager::Python), ready(Manager::Npm));
        let is_missing = |requirement: &&Requirement| match requirement {
            Requirement::Python(_) => !python,
            Requirement::Npm(_) => !npm,
            Requirement::Command(name) => !is_on_path(name),
        };
        let missing: BTreeSet<_> = requirements.iter().filter(is_missing).cloned().collect();
        if missing.is_empty() {
            Ok(prepared(&plan))
        } else {
            Err(Missing {
                requirements: missing,
            })
        }
    }

    /// Installs what is missing, one folder after the other, within 10 minutes each, and says so as it goes.
    /// Dropping the future ends whatever it runs; what is half done is done anew the next time.
    pub async fn install(
        &self,
        requirements: &BTreeSet<Requirement>,
        progress: &(dyn Fn(InstallEvent) + Sync),
    ) -> Result<Prepared, InstallError> {
        for spec in self.plan(requirements) {
            let what = spec.to_string();
            let folder = spec.folder.clone();
            if spec.is_ready() {
                progress(InstallEvent::Reused { what, folder });
                continue;
            }
            let _lock = lock(&spec, progress).await?;
            // Whoever held the lock before may have done it.
            if spec.is_ready() {
                progress(InstallEvent::Reused { what, folder });
                continue;
            }
            progress(InstallEvent::Started {
                what: what.clone(),
                folder: folder.clone(),
            });
            let begun = Instant::now();
            self.fill(&spec).await?;
            progress(InstallEvent::Finished {
                what,
                folder,
                took: begun.elapsed(),
            });
        }
        Ok(self.check(requirements)?)
    }

    async fn fill(&self, spec: &EnvSpec) -> Result<(), InstallError> {
        let program = spec.manager.program();
        if !is_on_path(program) {
            return Err(InstallError::NoManager {
                what: spec.to_string(),
                program,
            });
        }
        spec.clear().map_err(cache_error(spec, &spec.folder))?;
        forget(&spec.beside("log")).map_err(cache_error(spec, &spec.beside("log")))?;
        let deadline = Instant::now() + INSTALL_LIMIT;
        for argv in spec.commands() {
            self.run(spec, argv, deadline).await?;
        }
        spec.mark_ready().map_err(cache_error(spec, &spec.folder))
    }

    async fn run(
        &self,
        spec: &EnvSpec,
        argv: Vec<String>,
        deadline: Instant,
    ) -> Result<(), InstallError> {
        let what = spec.to_string();
        let command =
            shlex::try_join(argv.iter().map(String::as_str)).unwrap_or_else(|_| argv.join(" "));
        let log = spec.beside("log");
        let process = AgentProcess::start(&self.launch(spec, argv));
        let process = process.map_err(|source| InstallError::Start {
            what: what.clone(),
            source,
        })?;
        let time_left = deadline.saturating_duration_since(Instant::now());
        let Ok(exit) = timeout(time_left, process.wait()).await else {
            process.stop(GRACE).await;
            let last_lines = process.last_lines();
            return Err(InstallError::TimedOut {
                what,
                command,
                limit: INSTALL_LIMIT,
                last_lines,
                log,
            });
        };
        if exit == AgentExit::Code(0) {
            return Ok(());
        }
        let last_lines = process.last_lines();
        Err(InstallError::Failed {
            what,
            command,
            exit,
            last_lines,
            log,
        })
    }

    fn launch(&self, spec: &EnvSpec, argv: Vec<String>) -> Launch {
        Launch {
            role: "install".to_owned(),
            argv,
            env: BTreeMap::new(),
            path_prepend: Vec::new(),
            working_dir: spec.folder.clone(),
            log: spec.beside("log"),
            mask: Arc::new(str::to_owned),
            sink: None,
            grace: GRACE,
            keeper: self.keeper.clone(),
        }
    }
}

fn prepared(plan: &[EnvSpec]) -> Prepared {
    Prepared {
        path_prepend: plan.iter().map(EnvSpec::bin).collect(),
        env: plan.iter().flat_map(EnvSpec::variables).collect(),
    }
}

fn is_on_path(program: &str) -> bool {
    path::find(program, &path::inherited(), Path::new(".")).is_some()
}

/// Keeps other runs from the folder until it is dropped.
async fn lock(
    spec: &EnvSpec,
    progress: &(dyn Fn(InstallEvent) + Sync),
) -> Result<File, InstallError> {
    let path = spec.beside("lock");
    let file = open_lock(spec, &path).map_err(cache_error(spec, &path))?;
    let deadline = Instant::now() + LOCK_LIMIT;
    let mut announced = false;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(source)) => return Err(cache_error(spec, &path)(source)),
            Err(TryLockError::WouldBlock) if Instant::now() > deadline => {
                return Err(InstallError::Locked {
                    what: spec.to_string(),
                    lock: path,
                    limit: LOCK_LIMIT,
                });
            }
            Err(TryLockError::WouldBlock) => {}
        }
        if !std::mem::replace(&mut announced, true) {
            progress(InstallEvent::Waiting {
                what: spec.to_string(),
                folder: spec.folder.clone(),
            });
        }
        sleep(LOOK_AGAIN).await;
    }
}

fn open_lock(spec: &EnvSpec, path: &Path) -> io::Result<File> {
    if let Some(cache) = spec.folder.parent() {
        std::fs::create_dir_all(cache)?;
    }
    File::options().create(true).append(true).open(path)
}

fn cache_error(spec: &EnvSpec, path: &Path) -> impl Fn(io::Error) -> InstallError + use<> {
    let (what, path) = (spec.to_string(), path.to_owned());
    move |source| InstallError::Cache {
        what: what.clone(),
        path: path.clone(),
        source,
    }
}

fn forget(file: &Path) -> io::Result<()> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn installer(cache: &Path) -> Installer {
        let keeper = Keeper {
            program: "/none".into(),
        };
        Installer {
            cache: cache.to_owned(),
            keeper,
        }
    }

    fn set(requirements: &[Requirement]) -> BTreeSet<Requirement> {
        requirements.iter().cloned().collect()
    }

    fn python(package: &str) -> Requirement {
        Requirement::Python(package.to_owned())
    }

    fn command(name: &str) -> Requirement {
        Requirement::Command(name.to_owned())
    }

    #[test]
    fn there_is_a_folder_for_each_manager_that_is_needed() {
        let installer = installer(Path::new("/cache"));
        assert_eq!(installer.plan(&set(&[command("sh")])), []);
        let npm = Requirement::Npm("c@3".to_owned());
        let plan = installer.plan(&set(&[npm, python("b==2"), python("a==1"), command("sh")]));
        let shown: Vec<_> = plan.iter().map(EnvSpec::to_string).collect();
        assert_eq!(shown, ["python packages a==1, b==2", "npm packages c@3"]);
    }

    #[test]
    fn what_is_missing_is_named_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let installer = installer(dir.path());
        assert_eq!(
            installer.check(&set(&[command("sh")])),
            Ok(Prepared::default())
        );

        let missing = installer
            .check(&set(&[command("sh"), command("no-such"), python("a==1")]))
            .unwrap_err();
        assert_eq!(
            missing.requirements,
            set(&[python("a==1"), command("no-such")])
        );
        assert!(!missing.is_installable());
        assert_eq!(
            missing.to_string(),
            "python:a==1 is not installed; the command `no-such` is not on the PATH, \
             install it with this machine's package manager"
        );
    }

    #[test]
    fn what_is_ready_says_how_it_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let installer = installer(dir.path());
        let wanted = set(&[Requirement::Npm("c@3".to_owned())]);
        let spec = installer.plan(&wanted).remove(0);
        spec.clear().unwrap();
        let modules = spec.folder.join("node_modules");
        std::fs::create_dir(&modules).unwrap();
        spec.mark_ready().unwrap();

        let prepared = installer.check(&wanted).unwrap();
        assert_eq!(prepared.path_prepend, [modules.join(".bin")]);
        assert_eq!(prepared.env["NODE_PATH"], modules.to_str().unwrap());
    }
}
