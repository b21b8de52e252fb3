//! Runs a registry: Debian's `docker-registry` with its own port and folder.

use std::{fs, path::Path, process::Stdio, time::Duration};

use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
};
use url::Url;

/// The time in which the registry must start.
const READY: Duration = Duration::from_secs(120);

/// A running registry; it is stopped when this is dropped.
pub(super) struct Program {
    pub(super) url: Url,
    child: Child,
    folder: TempDir,
}

impl Program {
    /// Starts a registry without authentication.
    pub(super) async fn start() -> Self {
        Self::with("127.0.0.1:0", "", TempDir::new().unwrap()).await
    }

    /// Starts a registry that admits the user of this line of an htpasswd file.
    pub(super) async fn guarded(htpasswd: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("htpasswd");
        fs::write(&file, htpasswd).unwrap();
        let auth = format!("auth: {{htpasswd: {{realm: test, path: {}}}}}\n", file.display());
        Self::with("127.0.0.1:0", &auth, folder).await
    }

    async fn with(address: &str, more: &str, folder: TempDir) -> Self {
        let settings = settings(address, more, folder.path());
        let mut child = Command::new("docker-registry")
            .arg("serve")
            .arg(settings)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("these tests need a registry (Debian: apt-get install docker-registry)");
        let said = BufReader::new(child.stderr.take().unwrap());
        let listening = async {
            let mut lines = said.lines();
            loop {
                let line = lines.next_line().await.unwrap().expect("the registry has ended");
                if let Some((_, rest)) = line.split_once("listening on ") {
                    let address = rest.split('"').next().unwrap().to_owned();
                    // Further output must be read, or the process would block.
                    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
                    return address;
                }
            }
        };
        let address = tokio::time::timeout(READY, listening).await.unwrap();
        Self { url: Url::parse(&format!("http://{address}")).unwrap(), child, folder }
    }

    /// Host and port, as in references.
    pub(super) fn host(&self) -> &str {
        self.url.authority()
    }

    /// Stops it; its content stays.
    pub(super) async fn stop(mut self) -> Stopped {
        self.child.kill().await.unwrap();
        Stopped { address: format!("127.0.0.1:{}", self.url.port().unwrap()), folder: self.folder }
    }
}

/// A stopped registry.
pub(super) struct Stopped {
    address: String,
    folder: TempDir,
}

impl Stopped {
    /// Starts it again at the same address.
    pub(super) async fn start(self) -> Program {
        Program::with(&self.address, "", self.folder).await
    }
}

fn settings(address: &str, more: &str, folder: &Path) -> std::path::PathBuf {
    let file = folder.join("settings.yml");
    let data = folder.join("data");
    let text = format!(
        "version: 0.1\nlog: {{level: info, formatter: json, accesslog: {{disabled: true}}}}\n\
         storage: {{filesystem: {{rootdirectory: {}}}}}\n\
         http: {{addr: \"{address}\", secret: test}}\n{more}",
        data.display()
    );
    fs::write(&file, text).unwrap();
    file
}
