//! PgBouncer of Debian's between bridges and database.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use bridge::store::{Event, PostgresStore, Store, testing::Sample};
use bridge_protocol::a2a::{Message, Part, Role};
use tokio::time::{Instant, sleep, timeout};

use crate::ports;

use super::{
    server::{Database, Server},
    strained::write_at_once,
};

const PATIENCE: Duration = Duration::from_secs(120);

fn said(id: &str) -> Event {
    Event::Message(Message::new(id, Role::User, vec![Part::text(id)]))
}

/// A running PgBouncer. It ends when this is dropped.
struct Pooler {
    port: u16,
    child: Child,
    _folder: tempfile::TempDir,
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Pooler {
    /// Starts one with these settings, and its defaults.
    fn start(server: &Server, settings: &str) -> Self {
        let port = ports::unused();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pgbouncer.ini");
        // Any name is taken for that of the server's superuser.
        let text = format!(
            "[databases]\n* = host={} user=bridge\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
             unix_socket_dir =\nauth_type = any\n{settings}\n",
            server.folder
        );
        fs::write(&file, text).unwrap();
        let mut command = Command::new("/usr/sbin/pgbouncer");
        // It refuses to run as root.
        if nix::unistd::geteuid().is_root() {
            let path = folder.path();
            let opened = fs::Permissions::from_mode(0o755);
            fs::set_permissions(path, opened).unwrap();
            command.args(["--user", "postgres"]);
        }
        let child = command
            .arg("--quiet")
            .arg(&file)
            .stderr(Stdio::null())
            .spawn()
            .expect(".ci/tools installs Debian's pgbouncer");
        Self { port, child, _folder: folder }
    }

    /// Opens a store behind it, as soon as it listens.
    async fn open(&self, database: &Database) -> Result<PostgresStore, String> {
        let name = database.url.split(['/', '?']).nth(3).unwrap();
        let url = format!("postgres://bridge@127.0.0.1:{}/{name}", self.port);
        let begun = Instant::now();
        loop {
            match PostgresStore::open(&url.parse().unwrap()).await {
                Ok(store) => return Ok(store),
                Err(error) => {
                    let error = error.to_string();
                    if !error.contains("Connection refused") || begun.elapsed() > PATIENCE {
                        return Err(error);
                    }
                }
            }
            sleep(Duration::from_millis(50)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_stores_work_with_session_pooling() {
    let server = Server::shared();
    let database = server.database().await;
    let pooler = Pooler::start(server, "pool_mode = session\ndefault_pool_size = 40");
    let one = pooler.open(&database).await.unwrap();
    let two = pooler.open(&database).await.unwrap();
    let sample = Sample::new("t");
    sample.create(&one, 1).await;
    // Notifications arrive through the pooler.
    let mut watch = two.watch(&sample.caller, "t").await.unwrap();
    let seq = sample.then(&one, 3, said("news")).await;
    let heard = timeout(PATIENCE, watch.after(seq - 1)).await.unwrap();
    assert_eq!(heard.unwrap().seq, seq);
    // The limits of statements are those of a session.
    let locker = database.connect().await;
    let lock = "BEGIN; LOCK TABLE bridge.tasks IN ACCESS EXCLUSIVE MODE";
    locker.batch_execute(lock).await.unwrap();
    let error = two.task(&sample.caller, "t").await.unwrap_err();
    assert!(error.to_string().contains("statement timeout"), "{error}");
}

/// A pooler lets connections wait that it does not allow: that makes the stores slower, and refuses nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_small_pool_is_slower_and_no_outage() {
    let server = Server::shared();
    let database = server.database().await;
    let pooler = Pooler::start(server, "pool_mode = session\ndefault_pool_size = 8");
    let store = Arc::new(pooler.open(&database).await.unwrap());
    write_at_once(&store).await;
}

/// Behind such a pooler most statements succeed at first, so the store checks the sessions when it is opened.
#[tokio::test(flavor = "multi_thread")]
async fn transaction_pooling_is_refused_with_advice() {
    let server = Server::shared();
    let database = server.database().await;
    let pooler = Pooler::start(server, "pool_mode = transaction");
    let error = pooler.open(&database).await.unwrap_err();
    assert!(error.contains("must use session pooling"), "{error}");
}
