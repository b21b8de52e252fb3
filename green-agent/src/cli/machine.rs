//! What this machine allows a run: how many trials at a time, and connections to itself. A machine that allows too little
//! would break connections in the middle of trials, which looks like a failure of the agents.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, TcpListener, TcpStream},
};

use bridge_program::{
    MIN_OWN_FILES,
    system::{self, FILE_LIMIT_ADVICE},
};

/// The open files for each trial, with a reserve: a trial with one agent and an environment opens 16.
const FILES_PER_TRIAL: u64 = 32;

/// The least limit of open files, with which two trials run at a time.
const LEAST_FILES: u64 = MIN_OWN_FILES + 2 * FILES_PER_TRIAL;

/// The reason why no run is possible on this machine.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unfit {
    #[error(
        "the limit of open files is {limit}, a run needs at least {LEAST_FILES}: {FILE_LIMIT_ADVICE}"
    )]
    Files { limit: u64 },
    #[error(
        "{address} cannot be reached from this machine itself, where the programs of a run talk to each other: {error}; \
         enable it (ip link set lo up; ip address add 127.0.0.1/8 dev lo)"
    )]
    Loopback { address: IpAddr, error: io::Error },
}

/// Returns how many of `wanted` trials may run at the same time. Raises the limit of open files to the highest allowed one.
pub(super) fn jobs(wanted: usize) -> Result<usize, Unfit> {
    system::raise_file_limit();
    reach(Ipv4Addr::LOCALHOST.into())?;
    let Some(limit) = system::file_limit() else {
        return Ok(wanted);
    };
    let jobs = allowed(wanted, limit)?;
    if jobs < wanted {
        tracing::warn!(
            "the limit of open files, {limit}, allows {jobs} trials at a time: {FILE_LIMIT_ADVICE} for more"
        );
    }
    Ok(jobs)
}

fn allowed(wanted: usize, limit: u64) -> Result<usize, Unfit> {
    if limit < LEAST_FILES {
        return Err(Unfit::Files { limit });
    }
    let most = (limit - MIN_OWN_FILES) / FILES_PER_TRIAL;
    Ok(wanted.min(usize::try_from(most).unwrap_or(usize::MAX)))
}

/// Connects to a listener at an address of this machine.
fn reach(address: IpAddr) -> Result<(), Unfit> {
    let listener = TcpListener::bind((address, 0));
    let reached = listener.and_then(|listener| TcpStream::connect(listener.local_addr()?));
    reached.map(drop).map_err(|error| Unfit::Loopback { address, error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_open_files_limits_the_trials_at_a_time() {
        for (wanted, limit, expected) in [
            (2, 127, None),
            (1, 128, Some(1)),
            (8, 128, Some(2)),
            (64, 1_024, Some(30)),
            (64, 4_096, Some(64)),
            (64, u64::MAX, Some(64)),
        ] {
            assert_eq!(allowed(wanted, limit).ok(), expected, "{wanted} with {limit}");
        }
    }

    #[test]
    fn an_address_that_cannot_be_reached_is_named() {
        // This address is reserved for documentation, so that no machine has it.
        let error = reach(IpAddr::from([192, 0, 2, 1])).unwrap_err().to_string();
        assert!(error.starts_with("192.0.2.1 cannot be reached"), "{error}");
        assert!(error.contains("ip link set lo up"), "{error}");
    }
}
