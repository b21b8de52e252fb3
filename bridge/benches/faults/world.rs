//! All processes of a round.

use std::{fmt, io::Write as _, path::PathBuf, str::FromStr, time::Duration};

use tempfile::TempDir;
use tokio::{task::block_in_place, time::sleep};

use crate::{
    Error,
    bot::Bot,
    caller::{Answer, Caller},
    link::{Link, Target},
    model::{BOT, BRIEF, ECHO, HANGING, RETAINED_TASKS},
    replica::Replica,
    server::Server,
    webhooks::Webhooks,
};

/// The store of the bridges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreKind {
    Sled,
    Postgres,
}

impl FromStr for StoreKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "sled" => Ok(Self::Sled),
            "postgres" => Ok(Self::Postgres),
            other => Err(format!("there is no store {other}; the stores are sled and postgres")),
        }
    }
}

impl fmt::Display for StoreKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sled => "sled, one bridge",
            Self::Postgres => "PostgreSQL, three bridges",
        })
    }
}

/// The bridges, the services that they need, and the links between them.
pub(crate) struct World {
    pub(crate) replicas: Vec<Replica>,
    pub(crate) to_replicas: Vec<Link>,
    pub(crate) to_bot: Vec<Link>,
    pub(crate) to_webhooks: Vec<Link>,
    pub(crate) to_database: Vec<Link>,
    pub(crate) bot: Bot,
    pub(crate) webhooks: Webhooks,
    pub(crate) caller: Caller,
    server: Option<Server>,
    folder: Option<TempDir>,
    path: PathBuf,
}

impl World {
    pub(crate) async fn start(store: StoreKind) -> Result<Self, Error> {
        let folder = tempfile::tempdir()?;
        let (bot, bot_target) = Bot::start().await?;
        let (webhooks, webhook_target) = Webhooks::start().await?;
        let mut world = Self {
            replicas: Vec::new(),
            to_replicas: Vec::new(),
            to_bot: vec![Link::tcp(bot_target).await?],
            to_webhooks: vec![Link::tcp(webhook_target).await?],
            to_database: Vec::new(),
            bot,
            webhooks,
            caller: Caller::of(Vec::new())?,
            server: None,
            path: folder.path().to_owned(),
            folder: Some(folder),
        };
        match store {
            StoreKind::Sled => {
                let place = format!("sled:{}", world.path.join("data").display());
                world.add_replica(&place).await?;
            }
            StoreKind::Postgres => world.start_replicas().await?,
        }
        let urls = world.to_replicas.iter().map(|link| link.address().to_owned());
        world.caller = Caller::of(urls.collect())?;
        world.wait_until_ready().await;
        Ok(world)
    }

    async fn start_replicas(&mut self) -> Result<(), Error> {
        // Syncing matters only when power is lost; here only processes crash.
        let server = block_in_place(|| Server::start(&["-c", "fsync=off"]));
        let database = server.database().await;
        let real = database.url.split_once("host=").and_then(|(_, host)| host.split('&').next());
        let real = real.ok_or("the database has no socket")?.to_owned();
        self.server = Some(server);
        for number in 0..3 {
            let folder = self.path.join(format!("database-{number}"));
            std::fs::create_dir(&folder)?;
            let socket = Target::Unix(PathBuf::from(&real).join(".s.PGSQL.5432"));
            self.to_database.push(Link::unix(&folder.join(".s.PGSQL.5432"), socket)?);
            let place = database.url.replace(&real, &folder.display().to_string());
            self.add_replica(&place).await?;
        }
        Ok(())
    }

    async fn add_replica(&mut self, store: &str) -> Result<(), Error> {
        let number = self.replicas.len();
        let config = self.path.join(format!("bridge-{number}.toml"));
        let bot = self.to_bot[0].address();
        let builtin = |name: &str, kind: &str, more: &str| {
            format!(
                "[[agents]]\nname = '{name}'\nbuiltin = '{kind}'\nturns = 'answers'\nqueue = 1000\n{more}"
            )
        };
        let agents = [
            builtin(ECHO, "echo", ""),
            builtin(BRIEF, "echo", &format!("retention = {{ tasks = {RETAINED_TASKS} }}\n")),
            builtin(HANGING, "hanging", ""),
            format!(
                "[[agents]]\nname = '{BOT}'\nbot = '{bot}/api/messages'\nqueue = 1000\nturn_limit = '10s'\n"
            ),
        ];
        let lease = if store.starts_with("sled") { "" } else { "lease = '2s'\n" };
        let text = format!(
            "[push]\nallow = ['loopback']\ntimeout = '2s'\n[store]\nplace = '{store}'\n{lease}{}",
            agents.concat()
        );
        std::fs::write(&config, text)?;
        let link = Link::tcp(Target::Nowhere).await?;
        self.to_replicas.push(link.clone());
        self.replicas.push(Replica::start(&self.path, number, config, link)?);
        Ok(())
    }

    pub(crate) fn links(&self) -> impl Iterator<Item = &Link> {
        let (near, far) = (self.to_replicas.iter(), self.to_database.iter());
        near.chain(far).chain(&self.to_bot).chain(&self.to_webhooks)
    }

    /// Crashes the database, and starts it again after a while. Returns false if there is none.
    pub(crate) async fn crash_database(&self, time: Duration) -> bool {
        let Some(server) = &self.server else {
            return false;
        };
        block_in_place(|| server.stop());
        sleep(time).await;
        block_in_place(|| server.start_again());
        true
    }

    /// Writes a line to the file `faults.log`.
    pub(crate) fn log(&self, line: &str) {
        let file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.path.join("faults.log"));
        let _ = file.and_then(|mut file| writeln!(file, "{line}"));
    }

    /// Waits until every bridge answers.
    pub(crate) async fn wait_until_ready(&self) {
        let mut answers = 0;
        while answers < 2 * self.replicas.len() {
            let params = serde_json::json!({"pageSize": 1});
            answers = match self.caller.call(ECHO, "ListTasks", &params).await {
                Answer::Done(_) => answers + 1,
                Answer::Refused(_) | Answer::Unknown => 0,
            };
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Ends all processes. Keeps the logs if a promise was broken.
    pub(crate) async fn shut_down(mut self, is_clean: bool) {
        self.replicas.clear();
        sleep(Duration::from_millis(100)).await;
        if !is_clean && let Some(folder) = self.folder.take() {
            eprintln!("the logs are in {}", folder.keep().display());
        }
    }
}
