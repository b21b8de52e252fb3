//! Installs packages into one folder: under a lock, within a time limit, by programs that end when the runner
//! ends.

use std::{
    fs::{File, TryLockError},
    io,
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use tokio::{
    runtime::Handle,
    task::JoinHandle,
    time::{sleep, timeout},
};

use super::{
    error::InstallError,
    event::{InstallEvent, InstallStep},
    package_folder::PackageFolder,
};
use bridge_program::path;

use crate::{AgentExit, AgentProcess, Launch, Supervisor};

/// The time limit for one folder.
const INSTALL_LIMIT: Duration = Duration::from_secs(600);

/// The time limit for waiting until another run has installed the same packages. It is longer than
/// [`INSTALL_LIMIT`], which ends the other run's attempt.
const LOCK_LIMIT: Duration = Duration::from_secs(630);

const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// uv, pip and npm get no time to clean up. An incomplete folder is emptied by the next attempt, and its lock is
/// released as soon as the runner has ended: they must not write after that, because another run may fill the folder.
const GRACE: Duration = Duration::ZERO;

/// Receives the progress events.
pub(super) type Progress<'a> = &'a (dyn Fn(InstallEvent) + Sync);

/// Makes sure that the folder is complete, filled by this run or by another.
pub(super) async fn complete(
    spec: &PackageFolder,
    supervisor: &Supervisor,
    progress: Progress<'_>,
) -> Result<(), InstallError> {
    let reused = || progress(event(spec, InstallStep::Reused));
    if spec.is_ready() {
        reused();
        return Ok(());
    }
    let lock = lock(spec, progress).await?;
    // Another run may have filled the folder while it held the lock.
    if spec.is_ready() {
        reused();
        return Ok(());
    }
    progress(event(spec, InstallStep::Started));
    let begun = Instant::now();
    fill(spec, supervisor, &lock).await?;
    for said in missing_extras(&std::fs::read_to_string(spec.beside("log")).unwrap_or_default()) {
        progress(event(spec, InstallStep::NoExtra(said.to_owned())));
    }
    progress(event(spec, InstallStep::Finished(begun.elapsed())));
    Ok(())
}

/// Returns the lines in which uv and pip say that a package does not have an extra of a requirement.
fn missing_extras(log: &str) -> impl Iterator<Item = &str> {
    const SAID: [&str; 2] = ["does not have an extra named", "does not provide the extra"];
    log.lines().map(str::trim).filter(|line| SAID.iter().any(|said| line.contains(said)))
}

/// Returns whether a program of this name is on the PATH.
pub(super) fn is_on_path(program: &str) -> bool {
    path::find(program, &path::inherited(), Path::new(".")).is_some()
}

fn event(spec: &PackageFolder, step: InstallStep) -> InstallEvent {
    InstallEvent { what: spec.to_string(), folder: spec.folder.clone(), step }
}

async fn fill(
    spec: &PackageFolder,
    supervisor: &Supervisor,
    lock: &File,
) -> Result<(), InstallError> {
    let program = spec.program();
    if !is_on_path(program) {
        return Err(InstallError::NoManager {
            what: spec.to_string(),
            program: program.to_owned(),
        });
    }
    forget(&spec.beside("log")).map_err(cache_error(spec, &spec.beside("log")))?;
    let deadline = Instant::now() + INSTALL_LIMIT;
    let mut outcome = Ok(());
    for way in spec.ways(is_on_path("uv")) {
        outcome = async {
            spec.clear().map_err(cache_error(spec, &spec.folder))?;
            for argv in way {
                run(spec, &launch(spec, supervisor, argv), lock, deadline).await?;
            }
            spec.mark_ready().map_err(cache_error(spec, &spec.folder))
        }
        .await;
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

/// The ends of commands whose installation was given up.
static GIVEN_UP: Mutex<Vec<JoinHandle<()>>> = Mutex::new(Vec::new());

/// Waits until all commands have ended whose installation was given up. A program that ends earlier unlocks their folders too
/// early.
pub async fn given_up_have_ended() {
    let ends = std::mem::take(&mut *bridge_program::lock(&GIVEN_UP));
    for end in ends {
        // A command cannot be waited for if its task has panicked.
        let _ = end.await;
    }
}

/// A command that fills the folder. If the installation is given up, the folder stays locked until the command has ended, because
/// it would otherwise write into what another run fills.
struct Filling {
    process: Arc<AgentProcess>,
    lock: Option<File>,
}

impl Drop for Filling {
    fn drop(&mut self) {
        let (process, lock) = (self.process.clone(), self.lock.take());
        if process.exited().is_none()
            && let Ok(runtime) = Handle::try_current()
        {
            let ends = runtime.spawn(async move {
                process.stop(GRACE).await;
                drop(lock);
            });
            bridge_program::lock(&GIVEN_UP).push(ends);
        }
    }
}

async fn run(
    spec: &PackageFolder,
    launch: &Launch,
    lock: &File,
    deadline: Instant,
) -> Result<(), InstallError> {
    // The copy is the same lock, which ends with the last of them.
    let lock = lock.try_clone().map_err(cache_error(spec, &spec.beside("lock")))?;
    let process = AgentProcess::start(launch)
        .map_err(|source| InstallError::Start { what: spec.to_string(), source })?;
    let process = Arc::new(process);
    let _filling = Filling { process: process.clone(), lock: Some(lock) };
    let time_left = deadline.saturating_duration_since(Instant::now());
    let exit = timeout(time_left, process.wait()).await.ok();
    if exit == Some(AgentExit::Code(0)) {
        return Ok(());
    }
    process.stop(GRACE).await;
    Err(InstallError::Failed {
        what: spec.to_string(),
        command: quoted(&launch.argv),
        how: exit.map_or(format!("did not end within {INSTALL_LIMIT:?}"), |exit| exit.to_string()),
        last_lines: process.last_lines(),
        log: launch.log.clone(),
    })
}

fn launch(spec: &PackageFolder, supervisor: &Supervisor, argv: Vec<String>) -> Launch {
    let mut env = spec.while_filling();
    // Without it, every start of an agent would compile all modules that it imports. pip compiles them anyway.
    if std::env::var_os("PYTHONDONTWRITEBYTECODE").is_some_and(|value| !value.is_empty()) {
        env.insert("UV_COMPILE_BYTECODE".to_owned(), "1".to_owned());
    }
    Launch {
        role: "install".to_owned(),
        argv,
        env,
        clean: false,
        path_prepend: Vec::new(),
        working_dir: spec.folder.clone(),
        log: spec.beside("log"),
        mask: Arc::new(str::to_owned),
        on_activity: Arc::new(|_| true),
        sink: None,
        grace: GRACE,
        supervisor: supervisor.clone(),
    }
}

fn quoted(argv: &[String]) -> String {
    let quoted = shlex::try_join(argv.iter().map(String::as_str));
    quoted.unwrap_or_else(|_| argv.join(" "))
}

/// Locks the folder against other runs until the returned file is dropped.
async fn lock(spec: &PackageFolder, progress: Progress<'_>) -> Result<File, InstallError> {
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
            progress(event(spec, InstallStep::Waiting));
        }
        sleep(LOOK_AGAIN).await;
    }
}

fn open_lock(spec: &PackageFolder, path: &Path) -> io::Result<File> {
    if let Some(cache) = spec.folder.parent() {
        std::fs::create_dir_all(cache)?;
    }
    File::options().create(true).append(true).open(path)
}

fn cache_error(spec: &PackageFolder, path: &Path) -> impl Fn(io::Error) -> InstallError + use<> {
    let (what, path) = (spec.to_string(), path.to_owned());
    move |source| InstallError::Cache { what: what.clone(), path: path.clone(), source }
}

fn forget(file: &Path) -> io::Result<()> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
