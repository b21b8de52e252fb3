//! The supervisor between the runner and one agent: nothing of the agent outlives it, and it does
//! not outlive the runner for longer than a stop takes.
//!
//! A runner that is killed cannot end its agents. So each agent is started by this same program,
//! run again as `__keep --grace-ms N -- CMD ARGS...`, whose standard input is a pipe from the
//! runner. Its end, which comes however the runner ends, is the order to stop; before that the
//! runner can write the line `stop MILLISECONDS`, where 0 means to kill at once.
//!
//! On Linux the keeper adopts orphans, so descendants that left the process group and the session
//! are found too. On other systems only the process group is ended.

use std::{
    ffi::OsString,
    io,
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Command, ExitCode, Stdio},
    time::Duration,
};

use nix::unistd::Pid;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc,
    time::{Instant, sleep_until},
};

use super::tree::{KILL_LIMIT, Tree};

/// The first argument that makes the program a keeper.
pub const KEEP: &str = "__keep";

/// How often the tree is looked at again while it is being ended, beside at each death of a child.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// No agent gets longer than this between SIGTERM and SIGKILL, whatever it is told.
pub(super) const LONGEST_GRACE: Duration = Duration::from_secs(3600);

/// The program that keeps agents: one whose `main` calls [`keep`] when its first argument is [`KEEP`].
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
}

/// Runs the keeper to its end. `args` is what follows [`KEEP`] on the command line.
///
/// The code is the agent's own, or 128 + N if signal N ended it; 127 if there is no such program and 126
/// if it cannot be run, as shells have it; 2 if the arguments are not those of a keeper.
pub fn keep(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let Some(order) = Order::parse(args) else {
        bridge_program::errln!("usage: {KEEP} --grace-ms N -- CMD ARGS...");
        return ExitCode::from(2);
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    match runtime.and_then(|runtime| runtime.block_on(supervise(&order))) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            let program = order.command.display();
            bridge_program::errln!("green-agent: failed to start {program}: {error}");
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
    command: OsString,
    args: Vec<OsString>,
}

impl Order {
    fn parse(args: impl IntoIterator<Item = OsString>) -> Option<Self> {
        let mut args = args.into_iter();
        (args.next()? == "--grace-ms").then_some(())?;
        let grace = parse_millis(args.next()?.to_str()?)?;
        (args.next()? == "--").then_some(())?;
        Some(Self {
            grace,
            command: args.next()?,
            args: args.collect(),
        })
    }
}

async fn supervise(order: &Order) -> io::Result<u8> {
    adopt_orphans()?;
    // Listening comes before the start, so that no death of a child and no order is missed.
    let mut orders = Orders::listen(order.grace)?;
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
    Ok(tree
        .leader_exit()
        .unwrap_or(super::AgentExit::Unknown)
        .code())
}

/// Whoever loses its parent below the keeper becomes the keeper's child, where it can be found.
fn adopt_orphans() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_child_subreaper(true)?;
    Ok(())
}

/// The tree reaps what is started here.
fn start(order: &Order) -> io::Result<Pid> {
    let child = Command::new(&order.command)
        .args(&order.args)
        .stdin(Stdio::null())
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
    from_runner: mpsc::Receiver<Duration>,
    child: Signal,
    stop: [Signal; 4],
}

impl Orders {
    /// From here on the keeper no longer dies of the signals that a terminal or a shutdown sends.
    fn listen(grace: Duration) -> io::Result<Self> {
        Ok(Self {
            grace,
            from_runner: listen_to_runner(grace),
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
            Some(grace) = self.from_runner.recv() => Some(grace),
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

/// Reads orders from standard input on a thread of its own, because nothing can interrupt that read.
fn listen_to_runner(grace: Duration) -> mpsc::Receiver<Duration> {
    let (sender, receiver) = mpsc::channel(4);
    std::thread::spawn(move || {
        let lines = io::stdin().lines().map_while(Result::ok);
        for ordered in lines.filter_map(|line| parse_stop(&line)) {
            if sender.blocking_send(ordered).is_err() {
                return;
            }
        }
        // The runner closed its end, or is gone: either way nobody wants the agent any more.
        let _ = sender.blocking_send(grace);
    });
    receiver
}

/// The line that orders a keeper to stop its agent.
pub(super) fn stop_line(grace: Duration) -> String {
    format!("stop {}\n", grace.min(LONGEST_GRACE).as_millis())
}

fn parse_stop(line: &str) -> Option<Duration> {
    parse_millis(line.strip_prefix("stop ")?.trim())
}

fn parse_millis(text: &str) -> Option<Duration> {
    Some(Duration::from_millis(text.parse().ok()?).min(LONGEST_GRACE))
}

/// The arguments that make [`Keeper::program`] keep `argv`; `grace` is what holds when the runner is gone.
pub(super) fn arguments(grace: Duration, argv: &[String]) -> Vec<String> {
    let own = [
        KEEP,
        "--grace-ms",
        &grace.min(LONGEST_GRACE).as_millis().to_string(),
        "--",
    ]
    .map(str::to_owned);
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
