//! Reserves fixed ports: trials that need the same port run one after the other, within this process and
//! among processes.

use std::{collections::BTreeSet, time::Duration};

use bridge_program::chain;
use tokio::time::{Instant, sleep};

use super::{Problem, ProblemKind, RunOptions};
use crate::{
    participant::ports::{PortLease, PortPool},
    scenario::model::{Ports, Scenario},
};

/// The interval at which a port's lock is tried again: a file lock does not notify anybody when it is
/// released.
const PAUSE: Duration = Duration::from_millis(50);

/// Reserves the ports that a scenario's file fixes for the programs which it starts. Waits for the trials of this run that hold
/// them or have asked before, each of which has limits of its own, and for other runs up to the scenario's total time limit.
/// Ports are reserved in ascending order, so that two trials cannot deadlock.
pub(super) async fn lease(
    scenario: &Scenario,
    options: &RunOptions,
) -> Result<Vec<PortLease>, Problem> {
    let limit = scenario.harness.timeout.total;
    let mut leases = Vec::new();
    for port in ports(scenario) {
        tokio::select! {
            lease = claim(&options.ports, port, limit) => leases.push(lease?),
            () = options.interrupted() => {
                return Err(ProblemKind::Interrupted.because("while another scenario held a port"));
            }
        }
    }
    Ok(leases)
}

async fn claim(pool: &PortPool, port: u16, limit: Duration) -> Result<PortLease, Problem> {
    let turn = pool.turn(port).await;
    let end = Instant::now() + limit;
    loop {
        let lease = pool.claim(port);
        if let Some(lease) = lease.map_err(|error| ProblemKind::Harness.because(chain(&error)))? {
            return Ok(lease.in_turn(turn));
        }
        if Instant::now() >= end {
            return Err(ProblemKind::NotStarted.because(format!(
                "another run holds port {port}; end it, or set harness.ports = \"auto\""
            )));
        }
        sleep(PAUSE).await;
    }
}

/// Returns the ports of the programs that are started at the addresses in the file.
pub(super) fn ports(scenario: &Scenario) -> BTreeSet<u16> {
    let fixed = scenario.harness.ports == Ports::Fixed;
    let started =
        scenario.agents().filter_map(|agent| agent.start.program()?.0.port_or_known_default());
    started.filter(|_| fixed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::testing::scenario_of;

    #[tokio::test]
    async fn a_fixed_port_is_awaited_until_it_is_returned() {
        let scenario = scenario_of(
            "[green_agent]\nendpoint = 'http://127.0.0.1:9009'\ncmd = 'x'\n\
             [[participants]]\nrole = 'a'\nendpoint = 'http://127.0.0.1:9019'\n",
        );
        assert_eq!(ports(&scenario), BTreeSet::from([9009]));

        let folder = tempfile::tempdir().unwrap();
        let pool = PortPool::new(folder.path().join("ports"));
        let other = PortPool::new(folder.path().join("ports"));
        let limit = Duration::from_secs(60);
        let first = claim(&pool, 9009, limit).await.unwrap();
        let problem = claim(&other, 9009, Duration::ZERO).await.unwrap_err();
        assert!(problem.message.contains("port 9009"), "{}", problem.message);

        let mut second = std::pin::pin!(claim(&other, 9009, limit));
        assert!(futures_util::poll!(second.as_mut()).is_pending());
        drop(first);
        assert_eq!(second.await.unwrap().port(), 9009);
    }

    #[tokio::test]
    async fn trials_of_one_run_have_a_fixed_port_in_turn_and_without_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let pool = PortPool::new(folder.path().join("ports"));
        let claim = || Box::pin(claim(&pool, 9009, Duration::ZERO));
        let first = claim().await.unwrap();
        let (mut second, mut third) = (claim(), claim());
        assert!(futures_util::poll!(second.as_mut()).is_pending());
        assert!(futures_util::poll!(third.as_mut()).is_pending());
        drop(first);
        assert!(futures_util::poll!(third.as_mut()).is_pending());
        drop(second.await.unwrap());
        assert_eq!(third.await.unwrap().port(), 9009);
    }
}
