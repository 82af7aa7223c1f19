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
    time::{Instant, sleep, sleep_until},
};

use crate::{
    client::{Answered, Client, Identity},
    ending::Ending,
    ledger::Ledger,
    plan::{Message, Mix, Plan},
};

/// For how long a client that is turned away comes again.
const PERSISTENCE: Duration = Duration::from_secs(60);

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
        let answered = politely(&mut client, &message, &ledger).await;
        let broke = answered.endings.iter().any(|ending| !ending.is_answer());
        if broke {
            // Whoever meets a closed door does not run against it again at once.
            next = next.max(Instant::now() + Duration::from_millis(100));
        }
    }
}

/// Makes the call, and makes it again as long as it is turned away, when it was told that it may come again.
pub(crate) async fn politely(client: &mut Client, message: &Message, ledger: &Ledger) -> Answered {
    let until = Instant::now() + PERSISTENCE;
    let mut attempt = 0;
    loop {
        let made = if attempt == 0 { message.clone() } else { message.again(format!("{}-r{attempt}", message.id)) };
        let answered = client.make(&made).await;
        ledger.enter(&made, client.identity(), &answered);
        let Some(wait) = answered.endings.iter().filter_map(Ending::turned_away_for).max() else { return answered };
        if Instant::now() + wait > until {
            ledger.gave_up(&message.id);
            return answered;
        }
        sleep(wait).await;
        attempt += 1;
    }
}
