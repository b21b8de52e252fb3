//! One round: clients run while faults are injected, and the outcome is checked.

use std::time::Duration;

use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use crate::{
    clients, figures::Figures, injection, model::Model, replica::Replica, settling, world::World,
};

/// The time for which faults are injected in a round, and the time limit for the clients' last streams after it.
const FAULT_TIME: Duration = Duration::from_secs(5);
const STREAMS: Duration = Duration::from_secs(120);

impl World {
    /// Runs clients while faults are injected, and checks the outcome after everything was repaired.
    pub(crate) async fn round(&self, seed: u64) -> Figures {
        let model = Model::default();
        self.log(&format!("round {seed}"));
        let (end, is_over) = watch::channel(false);
        let webhooks = self.to_webhooks[0].address().to_owned();
        let clients = clients::start(seed, &self.caller, &model, &webhooks, &is_over);
        let timer = async {
            sleep(FAULT_TIME).await;
            end.send_replace(true);
        };
        let (faults, ()) = tokio::join!(injection::inject_faults(self, seed, &is_over), timer);
        clients::wait(clients, &model, STREAMS).await;
        self.wait_until_ready().await;
        let begun = Instant::now();
        settling::check(&self.caller, &model, &self.bot, &self.webhooks).await;
        let settling = begun.elapsed();
        self.bot.clear();
        let mut figures = Figures::of(&model, faults, settling);
        figures.restarts = self.replicas.iter().map(Replica::take_restarts).sum();
        figures.panics = self.replicas.iter().map(Replica::take_panics).sum();
        figures
    }
}
