//! A supervisor process between a program and the processes that it starts. It ends those processes when the
//! program ends, and then ends itself.
//!
//! A program that is killed cannot end its child processes. Therefore each child is started by a second instance
//! of the same program, run as `__keep --grace-ms N -- CMD ARGS...`, whose standard input is a pipe from the
//! program. The end of that pipe, which comes however the program ends, orders the supervisor to stop the child.
//! The program can order it earlier with the line `stop MILLISECONDS`, where 0 means to kill at once.
//!
//! With `--streams` the child has the supervisor's own standard streams, which an MCP server over stdio needs. The
//! child must end when its input ends; if it does not end within the grace period, it is stopped.
//!
//! On Linux the supervisor adopts orphaned processes, so it also finds descendants that left the process group and
//! the session. On other Unix systems only the process group is ended. On Windows all descendants are ended, by force: a
//! program cannot be asked to end there.
//!
//! - `exit`: the end of a process
//! - `unix`, `windows`: supervise a child, with the means of the system

mod exit;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::{
    ffi::{OsStr, OsString},
    io,
    path::PathBuf,
    process::{Command, ExitCode},
    sync::OnceLock,
    time::Duration,
};

pub use self::exit::ProcessExit;
#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

pub use system::{ProcessGroup, end_supervised, kill_supervised, own_group};

/// The first argument that makes the program run as the supervisor.
const KEEP: &str = "__keep";

/// The option that gives the child the supervisor's standard streams.
const STREAMS: &str = "--streams";

/// The longest time between SIGTERM and SIGKILL, whatever grace period is requested.
pub const MAX_GRACE: Duration = Duration::from_secs(3600);

/// The time after which killing is given up. Only a process that hangs in the kernel survives that long.
pub const KILL_LIMIT: Duration = Duration::from_secs(10);

/// The installed supervisor program of this process.
static INSTALLED: OnceLock<Supervisor> = OnceLock::new();

/// A program that can run as the supervisor: its `main` calls [`main`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Supervisor {
    /// The path of the executable.
    pub program: PathBuf,
}

impl Supervisor {
    /// Returns the running program itself, if its `main` meets the condition of [`Supervisor`].
    ///
    /// # Errors
    /// If the system does not tell the path of the running program.
    pub fn current_exe() -> io::Result<Self> {
        // Unlike the path of the file, this name stays valid when the program is rebuilt or removed.
        let program = if cfg!(target_os = "linux") {
            PathBuf::from("/proc/self/exe")
        } else {
            std::env::current_exe()?
        };
        Ok(Self { program })
    }

    /// Makes this the program that [`Supervisor::installed`] returns; the first call wins.
    pub fn install(self) {
        let _ = INSTALLED.set(self);
    }

    /// Returns the installed program, for code that does not get one as an argument, such as an MCP client.
    pub fn installed() -> Option<&'static Self> {
        INSTALLED.get()
    }

    /// Returns a command that runs `program` with the command's standard streams. After the end of its standard
    /// input all its processes are ended: with SIGTERM after `grace`, and with SIGKILL after `grace` once more.
    pub fn over_streams(&self, program: &OsStr, args: &[String], grace: Duration) -> Command {
        let mut command = Command::new(&self.program);
        command.args([KEEP, "--grace-ms", &millis(grace), STREAMS, "--"]).arg(program).args(args);
        command
    }
}

/// Returns the `main` function of a program with supervised children: runs as the supervisor if the command line says
/// so; otherwise installs itself as the supervisor and runs `program`.
pub fn main(program: impl FnOnce() -> ExitCode) -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    if args.next().is_some_and(|first| first == KEEP) {
        return keep(args);
    }
    // If the path of the executable is unknown, the program runs without a supervisor.
    if let Ok(supervisor) = Supervisor::current_exe() {
        supervisor.install();
    }
    program()
}

/// Runs the supervisor to its end. `args` are the arguments after [`KEEP`].
///
/// The exit code is the child's own, or 128 + N if signal N ended it; 127 if the program does not exist and 126 if
/// it cannot be run, as in shells; 2 if the arguments are invalid.
fn keep(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let Some(order) = Order::parse(args) else {
        crate::errln!("usage: {KEEP} --grace-ms N [{STREAMS}] -- CMD ARGS...");
        return ExitCode::from(2);
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime.and_then(|runtime| runtime.block_on(system::supervise(&order))) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            crate::errln!("failed to start {}: {error}", order.command.display());
            ExitCode::from(if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 })
        }
    }
}

/// The arguments of the supervisor.
#[derive(Debug, PartialEq, Eq)]
struct Order {
    grace: Duration,
    /// Whether the child has the supervisor's standard streams; otherwise orders arrive over standard input.
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
        Some(Self { grace, streams, command: args.next()?, args: args.collect() })
    }
}

/// Returns the line that orders the supervisor to stop its child.
pub fn stop_line(grace: Duration) -> String {
    format!("stop {}\n", millis(grace))
}

fn millis(grace: Duration) -> String {
    grace.min(MAX_GRACE).as_millis().to_string()
}

fn parse_stop(line: &str) -> Option<Duration> {
    parse_millis(line.strip_prefix("stop ")?.trim())
}

fn parse_millis(text: &str) -> Option<Duration> {
    Some(Duration::from_millis(text.parse().ok()?).min(MAX_GRACE))
}

/// Returns the arguments with which [`Supervisor::program`] supervises `argv` and takes orders over standard input;
/// `grace` applies when the program ends without an order.
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
    fn a_supervisor_understands_its_own_arguments() {
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
    fn a_supervisor_knows_that_its_child_has_the_streams() {
        let supervisor = Supervisor { program: "x".into() };
        let command = supervisor.over_streams(OsStr::new("sh"), &["-c".to_owned()], Duration::ZERO);
        let order = Order {
            grace: Duration::ZERO,
            streams: true,
            command: "sh".into(),
            args: vec!["-c".into()],
        };
        let arguments = command.get_args().skip(1).map(OsStr::to_owned);
        assert_eq!(Order::parse(arguments), Some(order));
    }

    #[test]
    fn a_supervisor_understands_the_order_to_stop() {
        let cases = [
            (stop_line(Duration::from_millis(1500)), Some(Duration::from_millis(1500))),
            (stop_line(Duration::ZERO), Some(Duration::ZERO)),
            (stop_line(Duration::MAX), Some(MAX_GRACE)),
            ("stop 99999999999999".to_owned(), Some(MAX_GRACE)),
            ("stop soon".to_owned(), None),
            ("halt 1".to_owned(), None),
            (String::new(), None),
        ];
        for (line, expected) in cases {
            assert_eq!(parse_stop(&line), expected, "{line:?}");
        }
    }
}
