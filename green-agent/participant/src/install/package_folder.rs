//! A folder of installed packages: its contents, and whether it is complete.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bridge_program::system::{self, PYTHON_PROGRAMS};
use serde::{Deserialize, Serialize};

use super::interpreter::USUAL;

/// The file that is written last: a folder without it comes from an interrupted installation.
const MARKER: &str = "ready.json";

/// A module that Node.js loads before the agent's own, so that `import` finds the packages.
const MODULES: &str = include_str!("modules.mjs");

/// The lock file of a checkout.
const LOCK: &str = "uv.lock";

/// The files of a checkout that name its dependencies.
const PROJECT_FILES: [&str; 5] =
    ["pyproject.toml", LOCK, "setup.py", "setup.cfg", "requirements.txt"];

/// The program that installs packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PackageManager {
    /// uv or pip, into a virtual environment created by `python3`.
    Python,
    /// npm, into the folder's `node_modules`.
    Npm,
}

/// A folder for one set of packages. Sets do not share folders, so that no scenario changes the packages of another
/// one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageFolder {
    /// The program that installs them.
    pub manager: PackageManager,
    /// The packages in the package manager's syntax, sorted.
    pub packages: Vec<String>,
    /// The checkouts whose dependencies are installed too.
    pub checkouts: Vec<Checkout>,
    /// The interpreter, for Python packages.
    pub python: String,
    /// The folder; its name is derived from manager and packages.
    pub folder: PathBuf,
}

/// A folder with a Python project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkout {
    /// Its absolute path.
    pub folder: PathBuf,
    /// Whether it has a `uv.lock`, which then decides the versions.
    pub locked: bool,
    /// A hash of its project files, which changes with its dependencies.
    digest: u64,
}

impl Checkout {
    /// Reads the present state of the checkout in this folder.
    pub fn of(folder: PathBuf) -> Self {
        let read = |name: &str| std::fs::read(folder.join(name)).unwrap_or_default();
        let digest = fnv1a(&PROJECT_FILES.map(read).concat());
        Self { locked: !read(LOCK).is_empty(), digest, folder }
    }

    /// Returns the text that stands for the checkout in the marker and in the folder's name.
    fn key(&self) -> String {
        format!("-e {}#{:016x}", self.folder.display(), self.digest)
    }

    /// Returns the command of this uv that installs its dependencies: those in its lock file, without writing to
    /// the checkout, or otherwise those that its project names now. In both cases the environment refers to the checkout's own
    /// modules, because a copy of them would not change with them.
    fn command(&self, uv: &str) -> Vec<String> {
        let command = match self.locked {
            true => format!("{uv} sync --frozen --inexact --project"),
            false => format!("{uv} pip install --python {PYTHON_PROGRAMS}/python -e"),
        };
        let folder = self.folder.to_string_lossy().into_owned();
        words(&command).into_iter().chain([folder]).collect()
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Marker {
    packages: Vec<String>,
}

impl PackageManager {
    fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Npm => "npm",
        }
    }
}

impl fmt::Display for PackageFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} packages {}", self.manager.name(), self.named().join(", "))
    }
}

impl PackageFolder {
    /// Returns the folder below `cache` for these packages.
    pub fn new(cache: &Path, manager: PackageManager, packages: &BTreeSet<&str>) -> Self {
        let packages: Vec<String> = packages.iter().map(|package| (*package).to_owned()).collect();
        let hash = fnv1a(packages.join("\n").as_bytes());
        let folder = cache.join(format!("{}-{hash:016x}", manager.name()));
        Self { manager, packages, checkouts: Vec::new(), python: USUAL.to_owned(), folder }
    }

    /// Returns the folder for Python packages of this interpreter, with the dependencies of checkouts.
    pub fn python(
        cache: &Path,
        packages: &BTreeSet<&str>,
        checkouts: Vec<Checkout>,
        python: String,
    ) -> Self {
        let plain = Self::new(cache, PackageManager::Python, packages);
        if checkouts.is_empty() && python == USUAL {
            return plain;
        }
        let spec = Self { checkouts, python, ..plain };
        let hash = fnv1a(spec.content().join("\n").as_bytes());
        let folder = cache.join(format!("python-{hash:016x}"));
        Self { folder, ..spec }
    }

    /// Returns the program that must be on the PATH.
    pub fn program(&self) -> &str {
        match self.manager {
            PackageManager::Python => &self.python,
            PackageManager::Npm => "npm",
        }
    }

    /// Returns everything that determines the contents of the folder.
    fn content(&self) -> Vec<String> {
        let checkouts = self.checkouts.iter().map(Checkout::key);
        let python = (self.python != USUAL).then(|| self.python.clone());
        let packages = self.packages.iter().cloned();
        packages.chain(checkouts).chain(python).collect()
    }

    /// Returns the names of the installed packages, for people.
    fn named(&self) -> Vec<String> {
        let folders = self.checkouts.iter();
        let folders = folders.map(|one| one.folder.display().to_string());
        self.packages.iter().cloned().chain(folders).collect()
    }

    /// Returns whether an installation was completed here and the interpreter that it uses still exists.
    pub fn is_ready(&self) -> bool {
        let marker = std::fs::read(self.folder.join(MARKER)).ok();
        let marker = marker.and_then(|bytes| serde_json::from_slice::<Marker>(&bytes).ok());
        // The interpreter of a virtual environment is a link, which breaks when that Python is removed.
        let is_whole = match self.manager {
            PackageManager::Python => system::executable(&self.bin().join("python")).is_some(),
            PackageManager::Npm => self.folder.join("node_modules").exists(),
        };
        marker.is_some_and(|marker| marker.packages == self.content()) && is_whole
    }

    /// Marks the folder as complete, synced to disk so that no marker survives a power loss without the
    /// packages.
    ///
    /// # Errors
    /// If the marker cannot be written.
    pub fn mark_ready(&self) -> io::Result<()> {
        let marker = Marker { packages: self.content() };
        let draft = self.folder.join("ready.json.new");
        let mut file = File::create(&draft)?;
        file.write_all(&serde_json::to_vec_pretty(&marker)?)?;
        file.sync_all()?;
        std::fs::rename(&draft, self.folder.join(MARKER))?;
        system::sync_folder(&self.folder)
    }

    /// Returns a file beside the folder, such as its log; a file inside would be deleted when the folder is
    /// emptied.
    pub fn beside(&self, ending: &str) -> PathBuf {
        self.folder.with_extension(ending)
    }

    /// Returns the folder of its programs, for the front of PATH.
    pub fn bin(&self) -> PathBuf {
        match self.manager {
            PackageManager::Python => self.folder.join(PYTHON_PROGRAMS),
            PackageManager::Npm => self.folder.join("node_modules/.bin"),
        }
    }

    /// Returns the variables by which programs find the packages.
    pub fn variables(&self) -> BTreeMap<String, String> {
        let own =
            |name: &str, folder: PathBuf| (name.to_owned(), folder.to_string_lossy().into_owned());
        match self.manager {
            PackageManager::Python => BTreeMap::from([own("VIRTUAL_ENV", self.folder.clone())]),
            PackageManager::Npm => {
                let import =
                    format!("--import=data:text/javascript;base64,{}", STANDARD.encode(MODULES));
                BTreeMap::from([
                    own("NODE_PATH", self.folder.join("node_modules")),
                    ("NODE_OPTIONS".to_owned(), import),
                ])
            }
        }
    }

    /// Returns the methods to fill the empty folder, the preferred one first. A method is a list of commands to run in
    /// order; when one of them fails, the next method may work.
    ///
    /// uv installs Python packages many times faster than pip. It reads none of pip's settings, such as another index,
    /// and refuses some pre-releases that pip accepts, so pip is the second method.
    pub fn ways(&self, has_uv: bool) -> Vec<Vec<Vec<String>>> {
        match self.manager {
            PackageManager::Python if has_uv => vec![self.by_uv(), self.by_pip()],
            PackageManager::Python => vec![self.by_pip()],
            PackageManager::Npm => vec![vec![self.by_npm()]],
        }
    }

    fn by_uv(&self) -> Vec<Vec<String>> {
        let venv = words(&format!("{} -I -m venv --without-pip .", self.python));
        let checkouts = self.checkouts.iter().map(|checkout| checkout.command("uv"));
        // As with pip, programs find pip in the environment. With -q, uv would not warn of missing extras.
        let mut packages =
            words(&format!("uv pip install --python {PYTHON_PROGRAMS}/python -- pip"));
        packages.extend(self.packages.iter().cloned());
        std::iter::once(venv).chain(checkouts).chain([packages]).collect()
    }

    fn by_pip(&self) -> Vec<Vec<String>> {
        // `-I` keeps packages on the caller's PYTHONPATH from counting as installed.
        let venv = words(&format!("{} -I -m venv .", self.python));
        let pip =
            format!("{PYTHON_PROGRAMS}/python -I -m pip install --disable-pip-version-check -q");
        let uv = (!self.checkouts.is_empty()).then(|| words(&format!("{pip} uv")));
        let packages = (!self.packages.is_empty()).then(|| self.with_packages(&pip));
        let checkouts = self.checkouts.iter();
        let steps = uv
            .into_iter()
            .chain(checkouts.map(|checkout| checkout.command(&format!("{PYTHON_PROGRAMS}/uv"))))
            .chain(packages);
        std::iter::once(venv).chain(steps).collect()
    }

    fn by_npm(&self) -> Vec<String> {
        // Install scripts of indirect dependencies would run with the user's rights, so they are off;
        // packages that need them, to compile native code, must be installed by hand.
        self.with_packages("npm install --no-audit --no-fund --ignore-scripts")
    }

    /// Returns a command with the packages after `--`, so that no package is read as an option.
    fn with_packages(&self, command: &str) -> Vec<String> {
        let mut words = words(command);
        words.push("--".to_owned());
        words.extend(self.packages.iter().cloned());
        words
    }

    /// Returns the environment variables of the commands.
    pub fn while_filling(&self) -> BTreeMap<String, String> {
        let folder = self.folder.to_string_lossy().into_owned();
        match self.checkouts.is_empty() {
            true => BTreeMap::new(),
            // Without this, uv would create an environment inside the checkout.
            false => BTreeMap::from([("UV_PROJECT_ENVIRONMENT".to_owned(), folder)]),
        }
    }

    /// Empties the folder, and writes the file that keeps the package manager from using a parent project.
    ///
    /// # Errors
    /// If the folder cannot be removed or created, or the file not written.
    pub fn clear(&self) -> io::Result<()> {
        if self.folder.exists() {
            std::fs::remove_dir_all(&self.folder)?;
        }
        std::fs::create_dir_all(&self.folder)?;
        match self.manager {
            PackageManager::Python => Ok(()),
            // Without a manifest in the folder, npm would install into a project in a parent folder.
            PackageManager::Npm => {
                std::fs::write(self.folder.join("package.json"), r#"{"private": true}"#)
            }
        }
    }
}

fn words(command: &str) -> Vec<String> {
    command.split(' ').map(str::to_owned).collect()
}

/// Returns the 64-bit FNV-1a hash: the same on every machine and in every version, which the standard
/// library's hashers do not guarantee.
fn fnv1a(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn python(cache: &Path, packages: &[&str]) -> PackageFolder {
        PackageFolder::new(cache, PackageManager::Python, &packages.iter().copied().collect())
    }

    fn shown(way: &[Vec<String>]) -> Vec<String> {
        way.iter().map(|words| words.join(" ")).collect()
    }

    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn a_folder_belongs_to_a_set_in_whatever_order() {
        let cache = Path::new("/cache");
        assert_eq!(python(cache, &["a", "b"]), python(cache, &["b", "a", "b"]));
        assert_ne!(python(cache, &["a", "b"]).folder, python(cache, &["a"]).folder);
        let npm = PackageFolder::new(cache, PackageManager::Npm, &BTreeSet::from(["a"]));
        assert_ne!(npm.folder, python(cache, &["a"]).folder);
        assert_eq!(npm.folder, Path::new("/cache/npm-af63dc4c8601ec8c"));
        assert_eq!(npm.beside("log"), Path::new("/cache/npm-af63dc4c8601ec8c.log"));
    }

    #[test]
    fn only_a_complete_folder_is_ready() {
        let dir = tempfile::tempdir().unwrap();
        let spec = PackageFolder::new(dir.path(), PackageManager::Npm, &BTreeSet::from(["a@1"]));
        assert!(!spec.is_ready());
        spec.clear().unwrap();
        std::fs::create_dir(spec.folder.join("node_modules")).unwrap();
        assert!(!spec.is_ready(), "installed, but not to the end");
        spec.mark_ready().unwrap();
        assert!(spec.is_ready());
        std::fs::write(spec.folder.join(MARKER), r#"{"packages": ["b@1"]}"#).unwrap();
        assert!(!spec.is_ready(), "another set");
        spec.mark_ready().unwrap();
        std::fs::remove_dir(spec.folder.join("node_modules")).unwrap();
        assert!(!spec.is_ready(), "hollow");
        spec.clear().unwrap();
        assert!(!spec.folder.join(MARKER).exists());
    }

    #[test]
    fn es_modules_find_the_packages_too() {
        let dir = tempfile::tempdir().unwrap();
        let spec = PackageFolder::new(dir.path(), PackageManager::Npm, &BTreeSet::from(["tea"]));
        let package = spec.folder.join("node_modules/tea");
        std::fs::create_dir_all(&package).unwrap();
        let manifest = r#"{"type": "module", "exports": "./tea.js"}"#;
        std::fs::write(package.join("package.json"), manifest).unwrap();
        std::fs::write(package.join("tea.js"), "export default 'green';").unwrap();
        let agent = dir.path().join("agent.mjs");
        let node = |code: &str| {
            std::fs::write(&agent, code).unwrap();
            let mut node = std::process::Command::new("node");
            let ended = node.arg(&agent).envs(spec.variables()).output().unwrap();
            [ended.stdout, ended.stderr].map(|text| String::from_utf8(text).unwrap())
        };
        let found =
            node("import tea from 'tea'; console.log(tea, typeof (await import('fs')).stat);");
        assert_eq!(found, ["green function\n", ""]);
        let [_, missing] = node("import coffee from 'coffee';");
        let agent = agent.canonicalize().unwrap();
        let expected = format!("Cannot find package 'coffee' imported from {}", agent.display());
        assert!(missing.contains(&expected), "{missing}");
    }

    #[test]
    fn a_checkout_is_installed_by_its_lock_and_never_written_to() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("pyproject.toml"), "[project]").unwrap();
        let spec = || {
            let checkout = Checkout::of(dir.path().to_owned());
            let packages = BTreeSet::from(["a"]);
            PackageFolder::python(
                Path::new("/cache"),
                &packages,
                vec![checkout],
                "python3.12".to_owned(),
            )
        };
        let bare = spec();
        std::fs::write(dir.path().join("requirements.txt"), "b").unwrap();
        let loose = spec();
        assert_ne!(bare.folder, loose.folder, "setuptools reads dependencies from this file");
        let shown: Vec<_> = shown(&loose.ways(false)[0]);
        let folder = dir.path().display();
        assert_eq!(shown[0], "python3.12 -I -m venv .");
        assert!(shown[1].ends_with("install --disable-pip-version-check -q uv"), "{}", shown[1]);
        assert_eq!(shown[2], format!("bin/uv pip install --python bin/python -e {folder}"));
        assert!(shown[3].ends_with("-- a"), "{}", shown[3]);
        std::fs::write(dir.path().join("uv.lock"), "version = 1").unwrap();
        let locked = spec();
        let shown = locked.ways(false)[0][2].join(" ");
        assert_eq!(shown, format!("bin/uv sync --frozen --inexact --project {folder}"));
        assert!(locked.while_filling().contains_key("UV_PROJECT_ENVIRONMENT"));
        assert_ne!(loose.folder, locked.folder, "the lock says something else");
    }

    #[test]
    fn packages_cannot_pass_for_options() {
        let spec = python(Path::new("/cache"), &["--index-url=http://evil"]);
        let pip = spec.ways(false)[0].pop().unwrap();
        assert_eq!(pip[pip.len() - 2..], ["--", "--index-url=http://evil"]);
        let uv = spec.ways(true)[0].pop().unwrap();
        assert_eq!(uv[uv.len() - 3..], ["--", "pip", "--index-url=http://evil"]);
    }

    #[test]
    fn uv_comes_first_where_it_is_present() {
        let checkout = Checkout::of(PathBuf::from("/checkout"));
        let packages = BTreeSet::from(["a"]);
        let python = "python3.12".to_owned();
        let spec = PackageFolder::python(Path::new("/cache"), &packages, vec![checkout], python);
        let ways = spec.ways(true);
        assert_eq!(
            shown(&ways[0]),
            [
                "python3.12 -I -m venv --without-pip .",
                "uv pip install --python bin/python -e /checkout",
                "uv pip install --python bin/python -- pip a",
            ]
        );
        assert_eq!(ways[1..], spec.ways(false));
    }
}
