//! Parses the store of tasks: `memory`, `sled:FOLDER` or `postgres://USER@HOST/DATABASE`.

use std::{
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
};

use toml::Spanned;

#[cfg(feature = "postgres")]
use crate::store::{PostgresSettings, PostgresStore};
use crate::{
    config::{Config, StoreConfig},
    store::{ExportStore, MemoryStore, SledSettings, SledStore, Store, StoreError},
};

/// A store on the command line of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreChoice {
    /// A store in memory, lost at the end of the process.
    Memory,
    /// A store on disk.
    Sled(SledSettings),
    /// A store in a database.
    #[cfg(feature = "postgres")]
    Postgres(Box<PostgresSettings>),
}

/// The reason why there is no store to open.
#[derive(Debug, thiserror::Error)]
pub(super) enum StoreMissing {
    #[error(
        "{} contains no store: expected the folder that --store or the key store of bridge.toml named for bridge serve",
        .0.display()
    )]
    Nowhere(PathBuf),
    #[error("{} cannot be read, as the user who runs the bridge can: {reason}", .folder.display())]
    Closed { folder: PathBuf, reason: io::Error },
    #[error(
        "a store in memory is gone with its process: expected sled:FOLDER or postgres://USER@HOST/DATABASE"
    )]
    Memory,
    #[error(transparent)]
    Unusable(#[from] StoreError),
}

/// The error for a text that is not the name of a store.
const EXPECTED: &str = "expected memory, sled:FOLDER or postgres://USER@HOST/DATABASE";

/// The default folder.
const USUAL: &str = "bridge-data";

impl StoreChoice {
    /// Returns the store named in a configuration.
    pub(super) fn of(config: &Config) -> Result<Self, String> {
        let place = config.store.as_ref().and_then(|table| table.get_ref().0.place.as_ref());
        let choice = match place {
            Some(place) => place.0.parse()?,
            None => Self::Sled(SledSettings::in_folder(USUAL)),
        };
        Ok(choice.within(config))
    }

    /// Returns this store with the limits of a configuration.
    pub(super) fn within(mut self, config: &Config) -> Self {
        let Some(StoreConfig(table)) = config.store.as_ref().map(Spanned::get_ref) else {
            return self;
        };
        match &mut self {
            Self::Memory => {}
            Self::Sled(settings) => {
                settings.message_ids = table.message_ids.unwrap_or(settings.message_ids);
                settings.filters = table.filters.map_or(settings.filters, |size| size.0);
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(settings) => {
                settings.connections = table.connections.map_or(settings.connections, usize::from);
                settings.lease = table.lease.map_or(settings.lease, |lease| lease.0);
            }
        }
        self
    }

    /// Returns a file next to the tasks, if they are on disk.
    pub(super) fn beside(&self, name: &str) -> Option<PathBuf> {
        match self {
            Self::Memory => None,
            Self::Sled(settings) => Some(settings.folder.join(name)),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => None,
        }
    }

    /// Opens an existing store, for commands that only read.
    pub(super) async fn open_known(&self) -> Result<Arc<dyn Store>, StoreMissing> {
        self.check_exists()?;
        Ok(self.open().await?)
    }

    /// Checks that there is a store, without opening it. A database is only checked when it is opened.
    pub(super) fn check_exists(&self) -> Result<(), StoreMissing> {
        match self {
            Self::Memory => Err(StoreMissing::Memory),
            Self::Sled(settings) => log_exists(&settings.folder),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => Ok(()),
        }
    }

    /// Opens a store to copy it.
    pub(super) async fn open_whole(&self) -> Result<Arc<dyn ExportStore>, StoreMissing> {
        match self {
            Self::Memory => Err(StoreMissing::Memory),
            Self::Sled(settings) => Ok(Arc::new(SledStore::open(settings)?)),
            #[cfg(feature = "postgres")]
            Self::Postgres(settings) => Ok(Arc::new(PostgresStore::open(settings).await?)),
        }
    }

    /// Opens the store.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be used, because another process uses it or it has other
    /// content, or if the database cannot be used.
    pub async fn open(&self) -> Result<Arc<dyn Store>, StoreError> {
        Ok(match self {
            Self::Memory => Arc::new(MemoryStore::new()),
            Self::Sled(settings) => Arc::new(SledStore::open(settings)?),
            #[cfg(feature = "postgres")]
            Self::Postgres(settings) => Arc::new(PostgresStore::open(settings).await?),
        })
    }
}

impl FromStr for StoreChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "memory" => Ok(Self::Memory),
            Some(("sled", folder)) if !folder.is_empty() => {
                Ok(Self::Sled(SledSettings::in_folder(folder)))
            }
            #[cfg(feature = "postgres")]
            Some(("postgres" | "postgresql", _)) => {
                let settings = text.parse::<PostgresSettings>();
                let settings = settings.map_err(|error| error.to_string())?;
                Ok(Self::Postgres(Box::new(settings)))
            }
            #[cfg(not(feature = "postgres"))]
            Some(("postgres" | "postgresql", _)) => {
                Err("this program was built without the feature postgres".to_owned())
            }
            _ => Err(EXPECTED.to_owned()),
        }
    }
}

/// Checks that the folder has a log; other content is only known to the store itself.
fn log_exists(folder: &Path) -> Result<(), StoreMissing> {
    match fs::metadata(folder.join("log")) {
        Ok(found) if found.is_dir() => Ok(()),
        Err(reason) if !matches!(reason.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            let folder = folder.to_owned();
            Err(StoreMissing::Closed { folder, reason })
        }
        Ok(_) | Err(_) => Err(StoreMissing::Nowhere(folder.to_owned())),
    }
}

impl std::fmt::Display for StoreChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Memory => f.write_str("memory"),
            Self::Sled(settings) => write!(f, "sled:{}", settings.folder.display()),
            #[cfg(feature = "postgres")]
            Self::Postgres(settings) => settings.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn reading_creates_no_store() {
        let folder = tempfile::tempdir().unwrap();
        for place in [folder.path().to_owned(), folder.path().join("a")] {
            let choice = StoreChoice::Sled(SledSettings::in_folder(&place));
            let error = choice.open_known().await.err().unwrap();
            assert!(error.to_string().contains("contains no store"), "{error}");
            assert!(!place.join("log").exists());
        }
        assert!(!folder.path().join("a").exists());
        assert!(StoreChoice::Memory.open_known().await.is_err());
        let choice = StoreChoice::Sled(SledSettings::in_folder(folder.path().join("b")));
        drop(choice.open().await.unwrap());
        assert!(choice.open_known().await.is_ok());
    }

    /// The folder is a symbolic link to itself, because root can read a folder of any other owner.
    #[test]
    fn a_folder_that_others_own_is_not_taken_for_empty() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("a");
        std::os::unix::fs::symlink(&place, &place).unwrap();
        let choice = StoreChoice::Sled(SledSettings::in_folder(&place));
        let error = choice.check_exists().unwrap_err().to_string();
        assert!(error.contains("a cannot be read, as the user who"), "{error}");
    }

    #[test]
    fn a_configuration_names_the_place_alone_or_says_what_it_may_take() {
        let of = |text: &str| {
            let text = format!("{text}\n[[agents]]\nname = 'a'\nbuiltin = 'echo'\n");
            let config = crate::config::parse("a.toml".as_ref(), &text, &["echo"]);
            config.map(|config| StoreChoice::of(&config).unwrap())
        };
        let usual = SledSettings::in_folder(USUAL);
        assert_eq!(of("").unwrap(), StoreChoice::Sled(usual.clone()));
        assert_eq!(of("store = 'memory'").unwrap(), StoreChoice::Memory);
        let said = of("[store]\nmessage_ids = 1000\nfilters = '1 MiB'").unwrap();
        let (message_ids, filters) = (1000, 1 << 20);
        let expected = SledSettings { message_ids, filters, ..usual };
        assert_eq!(said, StoreChoice::Sled(expected));
        let said = of("[store]\nplace = 'sled:b'").unwrap();
        assert_eq!(said, StoreChoice::Sled(SledSettings::in_folder("b")));
        let text = "[store]\nmessage_ids = 1000\n[[agents]]\nname = 'a'\nbuiltin = 'echo'\n";
        let config = crate::config::parse("a.toml".as_ref(), text, &["echo"]).unwrap();
        let named = SledSettings::in_folder("c");
        let expected = SledSettings { message_ids, ..named.clone() };
        assert_eq!(StoreChoice::Sled(named).within(&config), StoreChoice::Sled(expected));
        for (wrong, expected) in [
            ("[store]\nfilters = '1 Mib'", "expected a size such as 16 MiB"),
            (
                "[store]\nplace = 'redis'",
                "store: expected memory, sled:FOLDER or postgres://USER@HOST/DATABASE, found \"redis\"",
            ),
            ("[store]\nids = 1", "store.ids: unknown key; known here: "),
            ("store = 1", "expected memory, sled:FOLDER, postgres://USER@HOST/DATABASE or a table"),
        ] {
            let error = of(wrong).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_store_is_named_by_kind_and_folder() {
        let database = cfg!(feature = "postgres").then_some("postgres://me@db:5432/d");
        let texts = ["memory", "sled:data", "sled:/a b/c:d"];
        for text in texts.into_iter().chain(database) {
            assert_eq!(text.parse::<StoreChoice>().unwrap().to_string(), text);
        }
        for text in ["", "sled", "sled:", "memory:x", "postgres://h/d", "redis://h"] {
            assert!(text.parse::<StoreChoice>().is_err(), "{text}");
        }
    }
}
