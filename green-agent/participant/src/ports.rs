//! Leases ports so that no two trials on this machine use the same one: free ports for `ports = "auto"`, and the fixed
//! ports of files.

use std::{
    collections::BTreeMap,
    fs::{File, TryLockError},
    hash::{BuildHasher, RandomState},
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener},
    ops::Range,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use bridge_program::{lock, system::make_shared};
use tokio::sync::OwnedMutexGuard;
use url::Url;

/// The ports for leases. They are below the range from which systems choose ports for outgoing connections,
/// so that none of those takes a leased port.
const PORTS: Range<u16> = 20_000..32_000;

/// Leases ports. All pools on one machine share a folder of lock files, so leases hold across processes.
#[derive(Clone, Debug)]
pub struct PortPool {
    folder: PathBuf,
    /// The trials of this process that wait for a fixed port, in the order in which they asked.
    turns: Arc<Mutex<BTreeMap<u16, Turns>>>,
}

type Turns = Arc<tokio::sync::Mutex<()>>;

/// A leased port. The lease ends when this is dropped or the process ends, even if it is killed.
#[derive(Debug)]
pub struct PortLease {
    port: u16,
    /// The lock is released when the file is closed. The file is not removed: otherwise two processes could
    /// lock two files of the same name.
    _lock: File,
    /// The turn of its holder, which ends after the lock.
    _turn: Option<PortTurn>,
}

/// The turn of a trial to have a fixed port. Until it is dropped, the other trials of this process wait.
pub type PortTurn = OwnedMutexGuard<()>;

impl PortLease {
    /// Returns the port's number.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Keeps its holder's turn as long as the lease.
    #[must_use]
    pub fn in_turn(self, turn: PortTurn) -> Self {
        Self { _turn: Some(turn), ..self }
    }
}

/// The reason why no port could be leased.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum PortError {
    /// The lock files cannot be used.
    #[error("cannot use {} to share ports with other runs; make it writable or set TMPDIR", path.display())]
    Folder {
        /// The folder or the lock file.
        path: PathBuf,
        source: io::Error,
    },
    /// Every port is in use.
    #[error("no port from {} to {} is free; end some runs, or use `ports = \"fixed\"`", PORTS.start, PORTS.end - 1)]
    Exhausted,
}

impl Default for PortPool {
    /// Returns the pool that all runs on this machine share.
    fn default() -> Self {
        Self::new(std::env::temp_dir().join("green-agent-ports"))
    }
}

impl PortPool {
    /// Returns a pool that shares its leases with all others of the same folder.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, turns: Arc::default() }
    }

    /// Leases a port on which nothing listens, searching from a random one.
    ///
    /// # Errors
    /// If all ports are taken, or the folder of the leases cannot be used.
    pub fn lease(&self) -> Result<PortLease, PortError> {
        self.make_folder()?;
        let first = random_port();
        for port in (first..PORTS.end).chain(PORTS.start..first) {
            if let Some(lease) = self.lock(port)?
                && is_free(port)
            {
                return Ok(lease);
            }
        }
        Err(PortError::Exhausted)
    }

    /// Waits until no other trial of this process has this port, or has asked for it before.
    pub async fn turn(&self, port: u16) -> PortTurn {
        let turns = lock(&self.turns).entry(port).or_default().clone();
        turns.lock_owned().await
    }

    /// Leases this port; returns `None` while another holder has it.
    ///
    /// # Errors
    /// If the folder of the leases cannot be used.
    pub fn claim(&self, port: u16) -> Result<Option<PortLease>, PortError> {
        self.make_folder()?;
        self.lock(port)
    }

    fn make_folder(&self) -> Result<(), PortError> {
        if self.folder.is_dir() {
            return Ok(());
        }
        let made = std::fs::create_dir_all(&self.folder);
        made.map_err(folder_error(&self.folder))?;
        share(&self.folder);
        Ok(())
    }

    /// Locks a port's file; returns `None` if another holder has the lock.
    fn lock(&self, port: u16) -> Result<Option<PortLease>, PortError> {
        let path = self.folder.join(port.to_string());
        let file = open(&path).map_err(folder_error(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(PortLease { port, _lock: file, _turn: None })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(folder_error(&path)(source)),
        }
    }
}

/// Opens a port's file, and makes it if there is none. A file that is there is not opened for making it: Linux refuses that for
/// files of other users in a folder like this one (`fs.protected_regular`).
fn open(path: &Path) -> io::Result<File> {
    match File::options().append(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let file = File::options().create(true).append(true).open(path)?;
            share(path);
            Ok(file)
        }
        opened => opened,
    }
}

fn folder_error(path: &Path) -> impl Fn(io::Error) -> PortError + use<> {
    let path = path.to_owned();
    move |source| PortError::Folder { path: path.clone(), source }
}

/// Makes a file or folder usable for other users of the machine. Only its creator may do this, so errors are
/// ignored.
fn share(path: &Path) {
    let _ = make_shared(path);
}

/// Returns a random port. The standard library's hasher has random keys, which is random enough here.
fn random_port() -> u16 {
    let chance = RandomState::new().hash_one(std::process::id());
    let span = u64::from(PORTS.end - PORTS.start);
    PORTS.start + u16::try_from(chance % span).unwrap_or(0)
}

/// Returns whether nothing listens on the port, on any of the addresses that agents bind.
pub fn is_free(port: u16) -> bool {
    let addresses = [
        SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)),
        SocketAddr::from((Ipv6Addr::LOCALHOST, port)),
        SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)),
    ];
    addresses.into_iter().all(|address| match TcpListener::bind(address) {
        Ok(_) => true,
        // On a machine without IPv6 the port cannot be in use there.
        Err(error) => address.is_ipv6() && error.kind() != io::ErrorKind::AddrInUse,
    })
}

/// Replaces `from` by `to` wherever it is a whole number in one of the words, such as `--port=9009` or
/// `http://h:9009/x`, but not in `19009`, `9009x` or `1.9009`. The value of an option that is not about an
/// address, such as `--limit 9009`, is replaced only if there is no other place. Returns the number of
/// replacements.
pub fn replace_port(argv: &mut [String], from: u16, to: u16) -> usize {
    let (from, to) = (from.to_string(), to.to_string());
    match replace_where(argv, &from, &to, is_of_port) {
        0 => replace_where(argv, &from, &to, |_| true),
        places => places,
    }
}

/// Replaces the numbers for which `wanted` returns true. It gets the text before the number, with words
/// separated by spaces.
fn replace_where(argv: &mut [String], from: &str, to: &str, wanted: fn(&str) -> bool) -> usize {
    let mut before = String::new();
    let mut count = 0;
    for word in argv {
        let original = word.clone();
        count +=
            replace_number(word, from, to, |at| wanted(&format!("{before}{}", &original[..at])));
        before.push_str(&original);
        before.push(' ');
    }
    count
}

/// Returns whether a number after this text can be a port. It cannot be one after an option with another meaning.
fn is_of_port(before: &str) -> bool {
    let mut words = before.rsplit(char::is_whitespace);
    let own = words.next().unwrap_or_default();
    let option = match own.strip_suffix('=') {
        Some(option) => Some(option),
        None if own.is_empty() => words.next().filter(|word| word.starts_with('-')),
        None => None,
    };
    option.is_none_or(says_port)
}

/// Returns whether an option's name is that of an address or port.
fn says_port(option: &str) -> bool {
    const PIECES: [&str; 8] =
        ["port", "listen", "bind", "addr", "url", "endpoint", "host", "serve"];
    let name = option.trim_start_matches('-').to_ascii_lowercase();
    name == "p" || PIECES.iter().any(|piece| name.contains(piece))
}

/// Returns the endpoint with another port.
pub fn with_port(endpoint: &Url, port: u16) -> Url {
    let mut endpoint = endpoint.clone();
    // This fails only for a URL without a host, which cannot be an agent's.
    let _ = endpoint.set_port(Some(port));
    endpoint
}

fn replace_number(
    word: &mut String,
    from: &str,
    to: &str,
    wanted: impl Fn(usize) -> bool,
) -> usize {
    let places: Vec<usize> = word
        .match_indices(from)
        .map(|(at, _)| at)
        .filter(|at| is_edge(word[..*at].chars().rev()) && is_edge(word[at + from.len()..].chars()))
        .filter(|at| wanted(*at))
        .collect();
    for at in places.iter().rev() {
        word.replace_range(*at..at + from.len(), to);
    }
    places.len()
}

/// Returns whether a number can begin or end beside these characters, the nearest of which comes first.
fn is_edge(mut beside: impl Iterator<Item = char>) -> bool {
    match beside.next() {
        Some('.') => !beside.next().is_some_and(|c| c.is_ascii_digit()),
        Some(c) => !c.is_alphanumeric() && c != '_',
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn leases_differ_and_come_back() {
        let dir = tempfile::tempdir().unwrap();
        let pool = PortPool::new(dir.path().join("ports"));
        let leases: Vec<_> = (0..20).map(|_| pool.lease().unwrap()).collect();
        let ports: BTreeSet<_> = leases.iter().map(PortLease::port).collect();
        assert_eq!(ports.len(), 20);
        assert!(ports.iter().all(|port| PORTS.contains(port)));

        let port = leases[0].port();
        assert!(pool.lock(port).unwrap().is_none());
        drop(leases);
        assert!(pool.lock(port).unwrap().is_some());
    }

    #[test]
    fn a_port_with_a_listener_is_not_free() {
        for address in ["127.0.0.1:0", "0.0.0.0:0"] {
            let listener = TcpListener::bind(address).unwrap();
            assert!(!is_free(listener.local_addr().unwrap().port()), "{address}");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_is_named() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("file"), "").unwrap();
        let error = PortPool::new(dir.path().join("file/ports")).lease().unwrap_err();
        assert!(error.to_string().contains("file/ports"), "{error}");
    }

    #[test]
    fn separate_port_numbers_are_replaced() {
        let cases = [
            ("9009", "20000"),
            ("--port=9009", "--port=20000"),
            ("http://127.0.0.1:9009/x", "http://127.0.0.1:20000/x"),
            ("9009:9009", "20000:20000"),
            ("h:9009.", "h:20000."),
            ("{\"port\":9009,\"old\":9009}", "{\"port\":20000,\"old\":20000}"),
            ("19009", "19009"),
            ("90091", "90091"),
            ("9009x", "9009x"),
            ("x9009", "x9009"),
            ("port_9009", "port_9009"),
            ("é9009", "é9009"),
            ("1.9009", "1.9009"),
            ("9009.5", "9009.5"),
            ("", ""),
        ];
        for (word, expected) in cases {
            let mut argv = [word.to_owned()];
            let count = replace_port(&mut argv, 9009, 20000);
            assert_eq!(argv, [expected], "{word}");
            assert_eq!(count, expected.matches("20000").count(), "{word}");
        }
    }

    #[test]
    fn a_port_is_claimed_by_one_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let (one, other) =
            (PortPool::new(dir.path().join("ports")), PortPool::new(dir.path().join("ports")));
        let lease = one.claim(9009).unwrap();
        assert!(lease.is_some() && other.claim(9009).unwrap().is_none());
        assert!(other.claim(9010).unwrap().is_some());
        drop(lease);
        assert!(other.claim(9009).unwrap().is_some());
    }

    #[test]
    fn options_about_something_else_keep_their_numbers() {
        let cases = [
            ("x --port 9009 --limit 9009", "x --port 20000 --limit 9009"),
            ("x --limit=9009 http://h:9009", "x --limit=9009 http://h:20000"),
            ("x -p 9009 -n 9009", "x -p 20000 -n 9009"),
            ("x 9009 --seed 9009", "x 20000 --seed 9009"),
            (
                "x --public-url http://h:9009/ --max 9009",
                "x --public-url http://h:20000/ --max 9009",
            ),
            ("x --http 9009", "x --http 20000"),
        ];
        for (command, expected) in cases {
            let mut argv: Vec<String> = command.split(' ').map(str::to_owned).collect();
            assert_ne!(replace_port(&mut argv, 9009, 20000), 0, "{command}");
            assert_eq!(argv.join(" "), expected);
        }
        let mut shell = ["sh", "-c", "serve --limit 9009 --port 9009"].map(str::to_owned);
        assert_eq!(replace_port(&mut shell, 9009, 20000), 1);
        assert_eq!(shell[2], "serve --limit 9009 --port 20000");
    }

    #[test]
    fn an_endpoint_keeps_all_but_its_port() {
        let moved = with_port(&"http://h:9009/a?b=1".parse().unwrap(), 20000);
        assert_eq!(moved.as_str(), "http://h:20000/a?b=1");
    }

    proptest! {
        #[test]
        fn replacing_is_undone_by_replacing_back(word in "[a-z0-9:/=. é-]{0,24}", from: u16, to: u16) {
            prop_assume!(!word.contains(&to.to_string()));
            let mut argv = [word.clone()];
            let there = replace_port(&mut argv, from, to);
            prop_assert_eq!(replace_port(&mut argv, to, from), there);
            prop_assert_eq!(&argv[0], &word);
        }

        #[test]
        fn only_the_number_changes(before in "([a-z0-9]{0,5}[:=/ ])?", after in "([:/ ,][a-z0-9]{0,5})?") {
            prop_assume!(!before.contains("9009") && !after.contains("9009"));
            let mut argv = [format!("{before}9009{after}")];
            prop_assert_eq!(replace_port(&mut argv, 9009, 20000), 1);
            prop_assert_eq!(&argv[0], &format!("{before}20000{after}"));
        }
    }
}
