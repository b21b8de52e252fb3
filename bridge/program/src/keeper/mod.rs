//! The supervisor between a program and what it starts: nothing of that outlives it, and it does
//! not outlive the program for longer than a stop takes.
//!
//! A program that is killed cannot end what it started. So each child is started by this same program,
//! run again as `__keep --grace-ms N -- CMD ARGS...`, whose standard input is a pipe from the
//! program. Its end, which comes however the program ends, is the order to stop; before that the
//! program can write the line `stop MILLISECONDS`, where 0 means to kill at once.
//!
//! With `--streams` the child has the keeper's own standard streams, as an MCP server over stdio needs them.
//! Then the end of its input is what tells the child to end; one that does not do so within the grace
//! period is stopped.
//!
//! On Linux the keeper adopts orphans, so descendants that left the process group and the session
//! are found too. On other systems only the process group is ended.

mod exit;
mod tree;

use std::{
    ffi::{OsStr, OsString},
    io,
    os::{fd::AsFd, unix::process::CommandExt},
    path::PathBuf,
    process::{Command, ExitCode, Stdio},
    sync::OnceLock,
    time::Duration,
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    unistd::Pid,
};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc,
    time::{Instant, sleep_until},
};

pub use self::{
    exit::ProcessExit,
    tree::{KILL_LIMIT, kill_descendants},
};
use tree::Tree;

/// The first argument that makes the program a keeper.
const KEEP: &str = "__keep";

/// Gives the child the keeper's standard streams.
const STREAMS: &str = "--streams";

/// How often the tree is looked at again while it is being ended, beside at each death of a child.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Nothing gets longer than this between SIGTERM and SIGKILL, whatever the keeper is told.
pub const LONGEST_GRACE: Duration = Duration::from_secs(3600);

/// The keeper of this process, once there is one.
static INSTALLED: OnceLock<Keeper> = OnceLock::new();

/// The program that keeps others: one whose `main` calls [`main`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keeper {
    /// Where it is.
    pub program: PathBuf,
}

impl Keeper {
    /// The running program itself, for those whose `main` does as [`Keeper`] says.
    pub fn current_exe() -> io::Result<Self> {
        // Unlike a path, this name still works when the program was rebuilt or removed meanwhile.
        let program = if cfg!(target_os = "linux") {
            PathBuf::from("/proc/self/exe")
        } else {
            std::env::current_exe()?
        };
        Ok(Self { program })
    }

    /// Makes it the keeper of all that this process starts as [`Keeper::installed`] says; the first one stays.
    pub fn install(self) {
        let _ = INSTALLED.set(self);
    }

    /// The keeper of this program, for code that is given none, such as a client of an MCP server.
    pub fn installed() -> Option<&'static Self> {
        INSTALLED.get()
    }

    /// A command that runs `program` with the command's standard streams, and ends all of it some time after
    /// its standard input has ended: `grace` later with SIGTERM, and after `grace` once more with SIGKILL.
    pub fn over_streams(&self, program: &OsStr, args: &[String], grace: Duration) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args([KEEP, "--grace-ms", &millis(grace), STREAMS, "--"])
            .arg(program)
            .args(args);
        command
    }
}

/// The `main` of a program that keeps what it starts: runs as a keeper when the command line says so, and
/// otherwise installs itself as the keeper and runs `program`.
pub fn main(program: impl FnOnce() -> ExitCode) -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    if args.next().is_some_and(|first| first == KEEP) {
        return keep(args);
    }
    // Without a name for itself the program still runs, as one does that has no keeper.
    if let Ok(keeper) = Keeper::current_exe() {
        keeper.install();
    }
    program()
}

/// Runs the keeper to its end. `args` is what follows [`KEEP`] on the command line.
///
/// The code is the child's own, or 128 + N if signal N ended it; 127 if there is no such program and 126
/// if it cannot be run, as shells have it; 2 if the arguments are not those of a keeper.
fn keep(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let Some(order) = Order::parse(args) else {
        crate::errln!("usage: {KEEP} --grace-ms N [{STREAMS}] -- CMD ARGS...");
        return ExitCode::from(2);
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    match runtime.and_then(|runtime| runtime.block_on(supervise(&order))) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            crate::errln!("failed to start {}: {error}", order.command.display());
            ExitCode::from(if error.kind() == io::ErrorKind::NotFound {
                127
            } else {
                126
            })
        }
    }
}

/// What a keeper is told on its command line.
#[derive(Debug, PartialEq, Eq)]
struct Order {
    grace: Duration,
    /// Whether the child has the keeper's standard streams; otherwise orders come over standard input.
    streams: bool,
    command: OsString,
    args: Vec<OsString>,
}

impl Order {
    fn parse(args: impl IntoIterator<Item = OsString>) -> Option<Self> {
        let mut args = args.into_iter();
        (args.next()? == "--grace-ms").then_some(())?;
        let grace = parse_millis(args.next()?.to_str()?)?;
        let mut next = args.next()?;
        let streams = next == STREAMS;
        if streams {
            next = args.next()?;
        }
        (next == "--").then_some(())?;
        Some(Self {
            grace,
            streams,
            command: args.next()?,
            args: args.collect(),
        })
    }
}

async fn supervise(order: &Order) -> io::Result<u8> {
    adopt_orphans()?;
    // Listening comes before the start, so that no death of a child and no order is missed.
    let mut orders = Orders::listen(order)?;
    let mut tree = Tree::new(start(order)?);
    let grace = loop {
        if tree.reap() || tree.leader_exit().is_some() {
            break order.grace;
        }
        if let Some(grace) = orders.next().await {
            break grace;
        }
    };
    end(&mut tree, grace, &mut orders).await;
    Ok(tree.leader_exit().unwrap_or(ProcessExit::Unknown).code())
}

/// Whoever loses its parent below the keeper becomes the keeper's child, where it can be found.
fn adopt_orphans() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_child_subreaper(true)?;
    Ok(())
}

/// The tree reaps what is started here.
fn start(order: &Order) -> io::Result<Pid> {
    let stdin = if order.streams {
        Stdio::inherit()
    } else {
        Stdio::null()
    };
    let child = Command::new(&order.command)
        .args(&order.args)
        .stdin(stdin)
        .process_group(0)
        .spawn()?;
    i32::try_from(child.id())
        .map(Pid::from_raw)
        .map_err(io::Error::other)
}

/// SIGTERM to all, SIGKILL to what is left after the grace period, and again until nothing is left.
async fn end(tree: &mut Tree, grace: Duration, orders: &mut Orders) {
    let mut deadline = Instant::now() + grace;
    while !tree.reap() && Instant::now() < deadline {
        tree.terminate();
        let look_again = deadline.min(Instant::now() + LOOK_AGAIN);
        if let Some(shorter) = orders.next_before(look_again).await {
            deadline = deadline.min(Instant::now() + shorter);
        }
    }
    let deadline = Instant::now() + KILL_LIMIT;
    while !tree.reap() && Instant::now() < deadline {
        tree.kill();
        orders.next_before(Instant::now() + LOOK_AGAIN).await;
    }
}

/// Everything that wakes a keeper: orders to stop, and deaths of children.
struct Orders {
    grace: Duration,
    from_caller: mpsc::Receiver<Duration>,
    child: Signal,
    stop: [Signal; 4],
}

impl Orders {
    /// From here on the keeper no longer dies of the signals that a terminal or a shutdown sends.
    fn listen(order: &Order) -> io::Result<Self> {
        let grace = order.grace;
        Ok(Self {
            grace,
            from_caller: listen_to_caller(grace, order.streams),
            child: signal(SignalKind::child())?,
            stop: [
                signal(SignalKind::terminate())?,
                signal(SignalKind::interrupt())?,
                signal(SignalKind::hangup())?,
                signal(SignalKind::quit())?,
            ],
        })
    }

    /// The grace period of the next order to stop; `None` when a child died instead.
    async fn next(&mut self) -> Option<Duration> {
        let [terminate, interrupt, hangup, quit] = &mut self.stop;
        tokio::select! {
            _ = self.child.recv() => None,
            Some(grace) = self.from_caller.recv() => Some(grace),
            _ = terminate.recv() => Some(self.grace),
            _ = interrupt.recv() => Some(self.grace),
            _ = hangup.recv() => Some(self.grace),
            _ = quit.recv() => Some(self.grace),
        }
    }

    async fn next_before(&mut self, deadline: Instant) -> Option<Duration> {
        tokio::select! {
            grace = self.next() => grace,
            () = sleep_until(deadline) => None,
        }
    }
}

/// Waits for orders on a thread of its own, because nothing can interrupt what it waits for.
fn listen_to_caller(grace: Duration, streams: bool) -> mpsc::Receiver<Duration> {
    let (sender, receiver) = mpsc::channel(4);
    std::thread::spawn(move || {
        if streams {
            wait_for_hangup();
            // The child was told by the end of its input, and may end by itself.
            std::thread::sleep(grace);
        } else {
            let lines = io::stdin().lines().map_while(Result::ok);
            for ordered in lines.filter_map(|line| parse_stop(&line)) {
                if sender.blocking_send(ordered).is_err() {
                    return;
                }
            }
        }
        // The caller closed its end, or is gone: either way nobody wants the child any more.
        let _ = sender.blocking_send(grace);
    });
    receiver
}

/// Waits until nobody can write to standard input any more. What was written is the child's to read, and
/// is not waited for.
fn wait_for_hangup() {
    let stdin = io::stdin();
    let mut watched = [PollFd::new(stdin.as_fd(), PollFlags::empty())];
    while let Ok(0) | Err(Errno::EINTR | Errno::EAGAIN) = poll(&mut watched, PollTimeout::NONE) {}
}

/// The line that orders a keeper to stop its child.
pub fn stop_line(grace: Duration) -> String {
    format!("stop {}\n", millis(grace))
}

fn millis(grace: Duration) -> String {
    grace.min(LONGEST_GRACE).as_millis().to_string()
}

fn parse_stop(line: &str) -> Option<Duration> {
    parse_millis(line.strip_prefix("stop ")?.trim())
}

fn parse_millis(text: &str) -> Option<Duration> {
    Some(Duration::from_millis(text.parse().ok()?).min(LONGEST_GRACE))
}

/// The arguments that make [`Keeper::program`] keep `argv`, with orders over standard input; `grace` is what
/// holds when the caller is gone.
pub fn arguments(grace: Duration, argv: &[String]) -> Vec<String> {
    let own = [KEEP, "--grace-ms", &millis(grace), "--"].map(str::to_owned);
    own.into_iter().chain(argv.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[String]) -> Option<Order> {
        Order::parse(words.iter().map(OsString::from))
    }

    #[test]
    fn a_keeper_understands_its_own_arguments() {
        let argv = ["sh".to_owned(), "--".to_owned(), "-c".to_owned()];
        let words = arguments(Duration::from_secs(2), &argv);
        let order = Order {
            grace: Duration::from_secs(2),
            streams: false,
            command: "sh".into(),
            args: vec!["--".into(), "-c".into()],
        };
        assert_eq!(words[0], KEEP);
        assert_eq!(parse(&words[1..]), Some(order));
        for cut in 1..5 {
            assert_eq!(parse(&words[1..cut]), None, "{cut} words");
        }
    }

    #[test]
    fn a_keeper_is_told_that_its_child_has_the_streams() {
        let keeper = Keeper {
            program: "x".into(),
        };
        let command = keeper.over_streams(OsStr::new("sh"), &["-c".to_owned()], Duration::ZERO);
        let order = Order {
            grace: Duration::ZERO,
            streams: true,
            command: "sh".into(),
            args: vec!["-c".into()],
        };
        let told = command.get_args().skip(1).map(OsStr::to_owned);
        assert_eq!(Order::parse(told), Some(order));
    }

    #[test]
    fn a_keeper_understands_the_order_to_stop() {
        let cases = [
            (
                stop_line(Duration::from_millis(1500)),
                Some(Duration::from_millis(1500)),
            ),
            (stop_line(Duration::ZERO), Some(Duration::ZERO)),
            (stop_line(Duration::MAX), Some(LONGEST_GRACE)),
            ("stop 99999999999999".to_owned(), Some(LONGEST_GRACE)),
            ("stop soon".to_owned(), None),
            ("halt 1".to_owned(), None),
            (String::new(), None),
        ];
        for (line, expected) in cases {
            assert_eq!(parse_stop(&line), expected, "{line:?}");
        }
    }
}
