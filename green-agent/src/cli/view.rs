//! `green-agent view`: shows a run in the browser, also while it goes on.

use std::{
    error::Error,
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use bridge_program::{Exit, OrExit as _, listen, outln, serve, serve_until};
use clap::Args;

use super::{block_on, stop};
use crate::{record::MANIFEST, report::html};

const EXAMPLES: &str = "\
Examples:
  green-agent view                            the newest run of runs/
  green-agent view runs/20260102-030405-17 --listen 127.0.0.1:8080";

/// Show a run in the browser, also while it runs
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct View {
    /// The folder of the run [default: the newest one in the folder runs]
    #[arg(value_name = "RUN")]
    run: Option<PathBuf>,
    /// The address to listen on, which must be a loopback address
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0", value_parser = loopback)]
    listen: SocketAddr,
}

/// Reads a loopback address: a run may contain data that other machines must not see.
fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr =
        text.parse().map_err(|_| "expected ADDRESS:PORT such as 127.0.0.1:8080".to_owned())?;
    match address.ip().is_loopback() {
        true => Ok(address),
        false => Err("expected an address of this machine only, such as 127.0.0.1:8080; to show a run elsewhere, write --report html=FILE".to_owned()),
    }
}

impl View {
    pub(super) fn execute(&self) -> Result<Exit, Exit> {
        let run = self.run().or_exit(Exit::Unreadable)?;
        block_on(self.serve(&run)).or_exit(Exit::Infrastructure).map(|()| Exit::Passed)
    }

    /// Returns the folder of the run to show.
    fn run(&self) -> Result<PathBuf, String> {
        let run = self.run.clone().map_or_else(|| newest(Path::new("runs")), Ok);
        let run = run.map_err(|error| format!("cannot find a run in the folder runs: {error}"))?;
        if run.join(MANIFEST).exists() {
            return Ok(run);
        }
        let run = run.display();
        Err(format!("{run}: not the folder of a run; expected the file {MANIFEST} in it"))
    }

    async fn serve(&self, run: &Path) -> Result<(), Box<dyn Error>> {
        let stop = stop::on_signal(None)?;
        let listener = listen(self.listen).await?;
        outln!("{} at http://{}/", run.display(), listener.local_addr()?);
        serve_until(stop, |stop| serve(listener, html::live(run), stop)).await?;
        Ok(())
    }
}

/// Returns the run in a folder that was begun, resumed or joined last.
fn newest(runs: &Path) -> io::Result<PathBuf> {
    let folders = fs::read_dir(runs)?.flatten().map(|entry| entry.path());
    let begun = |folder: &PathBuf| fs::metadata(folder.join(MANIFEST))?.modified();
    let newest = folders.filter_map(|folder| Some((begun(&folder).ok()?, folder))).max();
    newest.map(|(_, folder)| folder).ok_or_else(|| io::Error::other("it has none"))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn the_newest_run_is_found_whatever_its_name() {
        let runs = tempfile::tempdir().unwrap();
        assert!(newest(runs.path()).is_err());
        for (age, name) in [(1, "20260103-030405-9"), (2, "whole"), (3, "20260102-030405-17")] {
            let folder = runs.path().join(name);
            fs::create_dir(&folder).unwrap();
            let manifest = fs::File::create(folder.join(MANIFEST)).unwrap();
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(100 - age);
            manifest.set_modified(time).unwrap();
        }
        fs::create_dir(runs.path().join("z")).unwrap();
        assert_eq!(newest(runs.path()).unwrap(), runs.path().join("20260103-030405-9"));
    }
}
