//! Checks and installs the requirements of scenarios.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use super::{
    error::{InstallError, Missing},
    event::InstallEvent,
    fill::{complete, is_on_path},
    interpreter::WantedPython,
    package_folder::{Checkout, PackageFolder, PackageManager},
};
use crate::Supervisor;
use green_agent_scenario::{container::Engine, model::Requirement};

/// Checks and installs requirements below one cache folder, which several runs may share at the same time.
#[derive(Clone, Debug)]
pub struct Installer {
    /// The folder that holds the installed packages, an absolute path.
    pub cache: PathBuf,
    /// The folder to which the paths of checkouts are relative.
    pub working_dir: PathBuf,
    /// Ends pip and npm if the runner ends.
    pub supervisor: Supervisor,
}

/// The settings with which an agent finds its requirements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    /// Folders to put before PATH.
    pub path_prepend: Vec<PathBuf>,
    /// `VIRTUAL_ENV`, and `NODE_PATH` with `NODE_OPTIONS`, where they apply.
    pub env: BTreeMap<String, String>,
}

/// Returns `$XDG_CACHE_HOME/green-agent` or `~/.cache/green-agent`; `None` if neither variable is set.
pub fn default_cache() -> Option<PathBuf> {
    let absolute =
        |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(base.join("green-agent"))
}

/// Returns the container engine that is installed on this machine, if any.
pub fn engine() -> Option<Engine> {
    Engine::ALL.into_iter().find(|engine| is_on_path(engine.program()))
}

impl Installer {
    /// Returns the package folders that these requirements need. Commands need none.
    ///
    /// # Errors
    /// If there is no Python of the version that they require.
    pub fn plan(
        &self,
        requirements: &BTreeSet<Requirement>,
    ) -> Result<Vec<PackageFolder>, Missing> {
        let (mut python, mut npm) = (BTreeSet::new(), BTreeSet::new());
        let (mut checkouts, mut version) = (Vec::new(), None);
        for requirement in requirements {
            match requirement {
                Requirement::Python(package) => _ = python.insert(package.as_str()),
                Requirement::Checkout(folder) => {
                    checkouts.push(Checkout::of(normal(&self.working_dir.join(folder))));
                }
                Requirement::Interpreter(wanted) => version = Some(wanted.as_str()),
                Requirement::Npm(package) => _ = npm.insert(package.as_str()),
                Requirement::Command(_) => {}
            }
        }
        let mut plan = Vec::new();
        if !python.is_empty() || !checkouts.is_empty() || version.is_some() {
            let checkout = checkouts.first().map(|one| one.folder.as_path());
            let interpreter = WantedPython::of(version, checkout).find();
            let interpreter = interpreter.map_err(|python| Missing {
                requirements: BTreeSet::new(),
                python: Some(python),
            })?;
            plan.push(PackageFolder::python(&self.cache, &python, checkouts, interpreter));
        }
        if !npm.is_empty() {
            plan.push(PackageFolder::new(&self.cache, PackageManager::Npm, &npm));
        }
        Ok(plan)
    }

    /// Checks that all requirements are installed, and returns the settings with which agents find them.
    /// Installs nothing.
    ///
    /// # Errors
    /// The requirements that are not installed.
    pub fn check(&self, requirements: &BTreeSet<Requirement>) -> Result<Prepared, Missing> {
        let plan = self.plan(requirements)?;
        let ready = plan.iter().filter(|spec| spec.is_ready());
        let ready: BTreeSet<PackageManager> = ready.map(|spec| spec.manager).collect();
        let is_missing = |requirement: &&Requirement| match requirement {
            Requirement::Python(_) | Requirement::Checkout(_) | Requirement::Interpreter(_) => {
                !ready.contains(&PackageManager::Python)
            }
            Requirement::Npm(_) => !ready.contains(&PackageManager::Npm),
            Requirement::Command(name) => !is_on_path(name),
        };
        let requirements: BTreeSet<_> = requirements.iter().filter(is_missing).cloned().collect();
        if requirements.is_empty() {
            Ok(prepared(&plan))
        } else {
            Err(Missing { requirements, python: None })
        }
    }

    /// Installs missing requirements, one folder after the other, each within 10 minutes, and reports progress.
    /// Dropping the future ends the running command; the next attempt installs an incomplete folder again from the
    /// start.
    ///
    /// # Errors
    /// If a command fails or takes too long, or a requirement cannot be installed by it.
    pub async fn install(
        &self,
        requirements: &BTreeSet<Requirement>,
        progress: &(dyn Fn(InstallEvent) + Sync),
    ) -> Result<Prepared, InstallError> {
        let plan = self.plan(requirements)?;
        for spec in plan {
            complete(&spec, &self.supervisor, progress).await?;
        }
        Ok(self.check(requirements)?)
    }
}

/// Returns a path without `.` segments, so that the same folder always has the same path.
fn normal(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn prepared(plan: &[PackageFolder]) -> Prepared {
    Prepared {
        path_prepend: plan.iter().map(PackageFolder::bin).collect(),
        env: plan.iter().flat_map(PackageFolder::variables).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn installer(cache: &Path) -> Installer {
        let supervisor = Supervisor { program: "/none".into() };
        Installer { cache: cache.to_owned(), working_dir: cache.to_owned(), supervisor }
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
        assert_eq!(installer.plan(&set(&[command("sh")])), Ok(Vec::new()));
        let npm = Requirement::Npm("c@3".to_owned());
        let wanted = set(&[npm, python("b==2"), python("a==1"), command("sh")]);
        let plan = installer.plan(&wanted).unwrap();
        let shown: Vec<_> = plan.iter().map(PackageFolder::to_string).collect();
        assert_eq!(shown, ["python packages a==1, b==2", "npm packages c@3"]);
    }

    #[test]
    fn only_missing_packages_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let installer = installer(dir.path());
        assert_eq!(installer.check(&set(&[command("sh")])), Ok(Prepared::default()));

        let missing = installer
            .check(&set(&[command("sh"), command("no-such"), python("a==1")]))
            .unwrap_err();
        assert_eq!(missing.requirements, set(&[python("a==1"), command("no-such")]));
        assert!(!missing.is_installable());
        assert_eq!(
            missing.to_string(),
            "python:a==1 is not installed; the command `no-such` is not on the PATH, \
             install it with this machine's package manager"
        );
    }

    #[test]
    fn a_missing_python_is_reported_before_anything_is_installed() {
        let installer = installer(Path::new("/cache"));
        let wanted = set(&[python("a==1"), Requirement::Interpreter("3.99".to_owned())]);
        let missing = installer.check(&wanted).unwrap_err();
        assert!(!missing.is_installable());
        let said = missing.to_string();
        assert!(said.starts_with("Python 3.99 was not found: "), "{said}");
    }

    #[test]
    fn an_installed_requirement_describes_its_location() {
        let dir = tempfile::tempdir().unwrap();
        let installer = installer(dir.path());
        let wanted = set(&[Requirement::Npm("c@3".to_owned())]);
        let spec = installer.plan(&wanted).unwrap().remove(0);
        spec.clear().unwrap();
        let modules = spec.folder.join("node_modules");
        std::fs::create_dir(&modules).unwrap();
        spec.mark_ready().unwrap();

        let prepared = installer.check(&wanted).unwrap();
        assert_eq!(prepared.path_prepend, [modules.join(".bin")]);
        assert_eq!(prepared.env["NODE_PATH"], modules.to_str().unwrap());
    }
}
