//! One round: clients ask while things break, and what became of it is compared.

use std::time::Duration;

use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use crate::{
    Failed, breakage, clients, figures::Figures, model::Model, replica::Replica, settling,
    world::World,
};

/// How long things break in a round, and how long the clients' last streams may take after it.
const RAGE: Duration = Duration::from_secs(5);
const STREAMS: Duration = Duration::from_secs(120);

impl World {
    /// Has clients ask while things break, and looks what became of it when nothing does any more.
    pub(crate) async fn round(&mut self, seed: u64, figures: &mut Figures) -> Result<(), Failed> {
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
        figures.settling = figures.settling.max(begun.elapsed());
        self.bot.forget();
        figures.add(&model, faults);
        figures.deleted += model
            .messages()
            .iter()
            .filter(|message| message.is_gone)
            .count() as u64;
        figures.restarts = self.replicas.iter().map(Replica::restarts).sum();
        figures.panics = self.replicas.iter().map(Replica::panics).sum();
        Ok(())
    }
}
