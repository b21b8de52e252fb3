//! A PostgreSQL server of Debian's, started by the tests and removed after them.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bridge::store::PostgresSettings;
use tokio_postgres::NoTls;

/// The time within which the database gets into a state for which a test waits.
const LIMIT: Duration = Duration::from_secs(60);

/// A running server. It ends when this is dropped, or when the tests end in any other way.
pub(crate) struct Server {
    pub(crate) folder: String,
    input: Mutex<ServerPipes>,
}

struct ServerPipes {
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
    _script: Child,
}

/// A database in a server.
#[derive(Clone, Debug)]
pub(crate) struct Database {
    pub(crate) url: String,
}

impl Server {
    /// Returns the server that most tests share, each with a separate database. It does not sync, which would take most
    /// of the time without effect, because no test turns off the power.
    pub(crate) fn shared() -> &'static Self {
        static SHARED: OnceLock<Server> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(&["-c", "fsync=off"]))
    }

    /// Starts a server with these options.
    pub(crate) fn start(options: &[&str]) -> Self {
        Self::start_with(options, &[])
    }

    /// Starts a server that speaks TLS at this port, too, with this certificate and key in PEM.
    pub(crate) fn start_with_tls(port: &str, certificate: &str, key: &str) -> Self {
        let options = ["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"];
        let variables = [("PGPORT", port), ("TLS_CERTIFICATE", certificate), ("TLS_KEY", key)];
        Self::start_with(&options, &variables)
    }

    /// Starts a server at this port, without TLS.
    pub(crate) fn start_at(port: &str) -> Self {
        let options = ["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"];
        Self::start_with(&options, &[("PGPORT", port)])
    }

    /// Starts a standby of this server.
    pub(crate) fn standby(&self) -> Self {
        Self::start_with(&["-c", "fsync=off"], &[("PRIMARY", &self.folder)])
    }

    /// Makes a standby a primary.
    pub(crate) fn promote(&self) {
        self.command("promote");
    }

    fn start_with(options: &[&str], variables: &[(&str, &str)]) -> Self {
        let script = include_str!("server.sh");
        // PostgreSQL refuses to run as root.
        let mut command = match nix::unistd::geteuid().is_root() {
            true => {
                let mut command = Command::new("setpriv");
                command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "sh"]);
                command
            }
            false => Command::new("sh"),
        };
        let child = command
            .args(["-c", script, "server.sh"])
            .args(options)
            .envs(variables.iter().copied())
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut script = child.expect("sh is there, and setpriv for root");
        let mut answers = BufReader::new(script.stdout.take().unwrap());
        let mut folder = String::new();
        answers.read_line(&mut folder).unwrap();
        assert!(!folder.is_empty(), "PostgreSQL does not start: .ci/tools installs it from Debian");
        Self {
            folder: folder.trim().to_owned(),
            input: Mutex::new(ServerPipes {
                commands: script.stdin.take().unwrap(),
                answers,
                _script: script,
            }),
        }
    }

    /// Stops the server at once, as a crash does.
    pub(crate) fn stop(&self) {
        self.command("stop");
    }

    /// Starts the server again.
    pub(crate) fn start_again(&self) {
        self.command("start");
    }

    /// Stops the server for a while.
    pub(crate) async fn stand_still(&self, time: Duration) {
        self.command("freeze");
        tokio::time::sleep(time).await;
        self.command("thaw");
    }

    fn command(&self, command: &str) {
        let mut input = self.input.lock().unwrap();
        writeln!(input.commands, "{command}").unwrap();
        let mut answer = String::new();
        input.answers.read_line(&mut answer).unwrap();
        assert_eq!(answer.trim(), command);
    }

    /// Makes a new database.
    pub(crate) async fn database(&self) -> Database {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("test_{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let create = format!("CREATE DATABASE {name}");
        self.of("postgres").execute(&create).await;
        self.of(&name)
    }

    fn of(&self, name: &str) -> Database {
        let folder = &self.folder;
        let url = format!("postgres:///{name}?host={folder}&user=bridge");
        Database { url }
    }
}

impl Database {
    pub(crate) fn settings(&self) -> PostgresSettings {
        self.url.parse().unwrap()
    }

    /// The same database for another user.
    pub(crate) fn for_user(&self, user: &str) -> Self {
        let url = self.url.replace("user=bridge", &format!("user={user}"));
        Self { url }
    }

    pub(crate) async fn connect(&self) -> tokio_postgres::Client {
        let (client, connection) = tokio_postgres::connect(&self.url, NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    pub(crate) async fn execute(&self, sql: &str) {
        self.connect().await.batch_execute(sql).await.unwrap();
    }

    /// Returns the number that a query selects.
    pub(crate) async fn number(&self, sql: &str) -> i64 {
        let client = self.connect().await;
        client.query_one(sql, &[]).await.unwrap().get(0)
    }

    /// Waits until no other client is connected, so that what killed ones had sent is done.
    pub(crate) async fn is_left(&self) {
        const OTHERS: &str =
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
            AND backend_type = 'client backend' AND pid <> pg_backend_pid()";
        self.until(OTHERS, |others| others == 0, "other clients stay connected").await;
    }

    /// Waits until a query selects a number that `is_reached` accepts. If none comes, the test fails with `fault`.
    pub(crate) async fn until(&self, sql: &str, is_reached: impl Fn(i64) -> bool, fault: &str) {
        let begun = Instant::now();
        while !is_reached(self.number(sql).await) {
            assert!(begun.elapsed() < LIMIT, "{fault}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
