//! One round: clients ask while things break, and what became of it is compared.

use std::time::Duration;

use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use crate::{
    breakage, clients, figures::Figures, model::Model, replica::Replica, settling, world::World,
};

/// How long things break in a round, and how long the clients' last streams may take after it.
const RAGE: Duration = Duration::from_secs(5);
const STREAMS: Duration = Duration::from_secs(120);

impl World {
    /// Has clients ask while things break, and looks what became of it when nothing does any more.
    pub(crate) async fn round(&self, seed: u64) -> Figures {
        let model = Model::default();
        self.note(&format!("round {seed}"));
        let (end, is_over) = watch::channel(false);
        let hooks = self.to_hooks[0].address().to_owned();
        let clients = clients::start(seed, &self.caller, &model, &hooks, &is_over);
        let timer = async {
            sleep(RAGE).await;
            end.send_replace(true);
        };
        let (faults, ()) = tokio::join!(breakage::rage(self, seed, &is_over), timer);
        clients::wait(clients, &model, STREAMS).await;
        self.wait().await;
        let begun = Instant::now();
        settling::settle(&self.caller, &model, &self.bot, &self.hooks).await;
        let settling = begun.elapsed();
        self.bot.forget();
        let mut figures = Figures::of(&model, faults, settling);
        figures.restarts = self.replicas.iter().map(Replica::take_restarts).sum();
        figures.panics = self.replicas.iter().map(Replica::take_panics).sum();
        figures
    }
}
