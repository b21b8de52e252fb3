//! Tests real installations: of a Python package from PyPI, and what happens when that fails.

use std::{collections::BTreeSet, path::Path, process::Command, sync::Mutex, time::Duration};

use green_agent::{
    install::{InstallError, InstallEvent, InstallStep, Installer},
    scenario::model::Requirement,
};
use tokio::time::sleep;

use super::support::supervisor;

fn installer(cache: &Path) -> Installer {
    Installer { cache: cache.to_owned(), working_dir: cache.to_owned(), supervisor: supervisor() }
}

fn python(package: &str) -> BTreeSet<Requirement> {
    BTreeSet::from([Requirement::Python(package.to_owned())])
}

/// Returns the progress events, by their first letters.
async fn steps(
    installer: &Installer,
    wanted: &BTreeSet<Requirement>,
) -> (String, Result<(), InstallError>) {
    let told = Mutex::new(String::new());
    let progress = |event: InstallEvent| {
        told.lock().unwrap().push(match event.step {
            InstallStep::Waiting => 'w',
            InstallStep::Started => 's',
            InstallStep::NoExtra(said) => {
                assert!(said.contains("six") && said.contains("fast"), "{said}");
                'x'
            }
            InstallStep::Finished(_) => 'f',
            InstallStep::Reused => 'r',
        });
    };
    let result = installer.install(wanted, &progress).await;
    (told.into_inner().unwrap(), result.map(drop))
}

#[tokio::test]
async fn a_python_package_is_installed_once_even_by_two_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let installer = installer(dir.path());
    let wanted = python("six==1.16.0");
    assert!(installer.check(&wanted).unwrap_err().is_installable());

    // A folder of an interrupted installation does not count as installed.
    let folder = installer.plan(&wanted).unwrap().remove(0).folder;
    std::fs::create_dir_all(folder.join("bin")).unwrap();

    let (one, two) = tokio::join!(steps(&installer, &wanted), steps(&installer, &wanted));
    one.1.unwrap();
    two.1.unwrap();
    let both = BTreeSet::from([one.0, two.0]);
    assert_eq!(both, ["sf", "wr"].map(str::to_owned).into());
    assert_eq!(steps(&installer, &wanted).await.0, "r");

    let prepared = installer.check(&wanted).unwrap();
    let python = prepared.path_prepend[0].join("python");
    let script = "import six, sys; print(six.__version__, sys.prefix)";
    let output = Command::new(python).args(["-c", script]).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(printed.trim(), format!("1.16.0 {}", prepared.env["VIRTUAL_ENV"]));
}

#[tokio::test]
async fn an_extra_that_a_package_lacks_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let (told, result) = steps(&installer(dir.path()), &python("six[fast]==1.16.0")).await;
    result.unwrap();
    assert_eq!(told, "sxf");
}

#[test]
fn modules_are_compiled_for_agents_that_may_not_write_them() {
    let dir = tempfile::tempdir().unwrap();
    let scenario = dir.path().join("six.toml");
    let text = "[green_agent]\nendpoint = 'http://127.0.0.1:9009'\ncmd = 'python -c 1'\n\
                [harness]\nversion = 1\nrequires = ['python:six==1.16.0']\nports = 'auto'\n";
    std::fs::write(&scenario, text).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_green-agent"))
        .args(["run", "six.toml", "--install", "--cache", "cache"])
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .current_dir(dir.path())
        .output()
        .unwrap();
    let mut find = Command::new("find");
    find.args(["cache", "-name", "six.*.pyc"]).current_dir(dir.path());
    let compiled = find.output().unwrap().stdout;
    assert!(!compiled.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test]
async fn a_failed_installation_says_what_failed_and_is_no_installation() {
    let dir = tempfile::tempdir().unwrap();
    let installer = installer(dir.path());
    let wanted = python("./no-such-folder");
    let (told, result) = steps(&installer, &wanted).await;
    assert_eq!(told, "s");
    let error = result.unwrap_err();
    let InstallError::Failed { command, log, last_lines, .. } = &error else {
        panic!("{error}");
    };
    assert!(
        command.contains("pip install") && command.ends_with("-- ./no-such-folder"),
        "{command}"
    );
    assert!(log.is_file() && !last_lines.is_empty());
    assert!(installer.check(&wanted).is_err());
}

/// The checkout is built by a program that does not end.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_given_up_installation_stays_locked_until_its_programs_have_ended() {
    let dir = tempfile::tempdir().unwrap();
    let (checkout, pid) = (dir.path().join("slow"), dir.path().join("pid"));
    std::fs::create_dir(&checkout).unwrap();
    let project = "[project]\nname = 'slow'\nversion = '1'\n\
                   [build-system]\nrequires = []\nbuild-backend = 'slow'\nbackend-path = ['.']\n";
    std::fs::write(checkout.join("pyproject.toml"), project).unwrap();
    let build = format!(
        "import os, time\nopen({pid:?}, 'w').write(f'{{os.getpid()}}\\n')\ntime.sleep(3600)\n"
    );
    std::fs::write(checkout.join("slow.py"), build).unwrap();
    let installer = installer(dir.path());
    let wanted = BTreeSet::from([Requirement::Checkout("slow".to_owned())]);
    let lock = installer.plan(&wanted).unwrap()[0].beside("lock");
    let builds = async {
        loop {
            let written = std::fs::read_to_string(&pid).unwrap_or_default();
            match written.strip_suffix('\n') {
                Some(pid) => return Path::new("/proc").join(pid),
                None => sleep(Duration::from_millis(10)).await,
            }
        }
    };
    let builder = tokio::select! {
        (told, result) = steps(&installer, &wanted) => panic!("{told}: {result:?}"),
        builder = builds => builder,
    };
    let lock = std::fs::File::open(lock).unwrap();
    while lock.try_lock().is_err() {
        sleep(Duration::from_millis(1)).await;
    }
    assert!(!builder.exists());
}

#[tokio::test]
async fn a_command_is_never_installed() {
    let dir = tempfile::tempdir().unwrap();
    let wanted = BTreeSet::from([Requirement::Command("no-such-command".to_owned())]);
    let (told, result) = steps(&installer(dir.path()), &wanted).await;
    assert_eq!(told, "");
    assert!(matches!(result, Err(InstallError::Missing(_))));
}
