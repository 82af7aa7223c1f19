//! Clients that follow their plans until it is enough.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    task::JoinSet,
    time::{Instant, sleep_until},
};

use crate::{
    client::{Client, Identity},
    ledger::Ledger,
    plan::{Mix, Plan},
};

/// Clients with a plan each.
#[derive(Clone)]
pub(crate) struct Load {
    pub(crate) address: SocketAddr,
    pub(crate) identities: Vec<Identity>,
    pub(crate) seed: u64,
    /// The clients are called by it.
    pub(crate) name: String,
    pub(crate) mix: Mix,
    pub(crate) clients: usize,
    /// The shortest time between the beginnings of two messages of a client.
    pub(crate) every: Duration,
    /// The most messages of one client.
    pub(crate) at_most: u64,
}

/// A load that is running.
pub(crate) struct Running {
    enough: Arc<AtomicBool>,
    clients: JoinSet<()>,
}

impl Load {
    /// Lets the clients go.
    pub(crate) fn start(self, ledger: &Ledger) -> Running {
        let enough = Arc::new(AtomicBool::new(false));
        let mut clients = JoinSet::new();
        for number in 0..self.clients {
            let identity = &self.identities[number % self.identities.len()];
            let client = Client::new(self.address, identity);
            let plan = Plan::new(self.seed, &format!("{}-{number}", self.name), self.mix);
            clients.spawn(follow(client, plan, self.every, self.at_most, Arc::clone(&enough), ledger.clone()));
        }
        Running { enough, clients }
    }
}

impl Running {
    /// Lets each client have its last answer.
    pub(crate) async fn stop(mut self) {
        self.enough.store(true, Ordering::Relaxed);
        while self.clients.join_next().await.is_some() {}
    }
}

async fn follow(
    mut client: Client,
    mut plan: Plan,
    every: Duration,
    at_most: u64,
    enough: Arc<AtomicBool>,
    ledger: Ledger,
) {
    let mut next = Instant::now();
    for _ in 0..at_most {
        sleep_until(next).await;
        if enough.load(Ordering::Relaxed) {
            return;
        }
        next = Instant::now() + every;
        let message = plan.next_message();
        let answered = client.make(&message).await;
        let broke = answered.endings.iter().any(|ending| !ending.is_answer());
        ledger.enter(&message, client.identity(), &answered);
        if broke {
            // Whoever meets a closed door does not run against it again at once.
            next = next.max(Instant::now() + Duration::from_millis(20));
        }
    }
}
