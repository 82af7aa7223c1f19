//! The consents of a folder, for a person who may write it.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use redress_core::{Consent, ConsentScope, HeldConsent, StoreBroken};
use sqlx::{Connection as _, SqliteConnection};

use crate::{
    StateOptions,
    clock::to_ms,
    connect,
    folder::{self, Found},
    orders::{self, Order},
    state::{CloseError, OpenError, State, held},
};

/// How long the running service has to carry an order out, and how often it is looked whether it has.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(50);

/// Why the consents of a folder could not be seen or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeskError {
    /// The state cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The file cannot be read or written.
    #[error("the state file cannot be used")]
    File(#[from] sqlx::Error),
    /// It could not be kept.
    #[error(transparent)]
    Unkept(#[from] StoreBroken),
    /// The state did not close as it should.
    #[error(transparent)]
    Close(#[from] CloseError),
    /// The service that runs on the folder has not carried the order out in time, and it was taken back.
    #[error(
        "the service that runs on this state folder did not take the order within five seconds, and it was taken back"
    )]
    NotTaken,
}

/// The consents of a state folder, for a person who may write it: whoever can change the file needs no other credential.
/// Where a service runs on the folder, it carries out what is ordered here; where none does, the file is changed at once.
///
/// ```
/// use std::time::Duration;
/// use redress_core::Consent;
/// use redress_state::ConsentDesk;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # let folder = tempfile::tempdir().unwrap();
/// # let folder = folder.path().join("state");
/// let desk = ConsentDesk::at(&folder);
/// let scope: redress_core::ConsentScope = "files.remove".parse().unwrap();
/// let consent = Consent {
///     caller: "local".into(),
///     scope: scope.clone(),
///     lasts: Duration::from_secs(600),
///     reason: "tidying up".into(),
/// };
/// desk.grant(consent).await.unwrap();
/// assert_eq!(desk.list(None).await.unwrap()[0].reason, "tidying up");
/// assert!(desk.withdraw("local", &scope).await.unwrap());
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct ConsentDesk {
    folder: PathBuf,
}

impl ConsentDesk {
    /// The consents of the state in `folder`.
    pub fn at(folder: impl AsRef<Path>) -> ConsentDesk {
        ConsentDesk { folder: folder.as_ref().to_owned() }
    }

    /// Keeps a consent, in place of an earlier one for the same caller and scope. When it returns, the consent holds.
    pub async fn grant(&self, consent: Consent) -> Result<(), DeskError> {
        let Some(state) = self.open().await? else {
            let until = SystemTime::now().checked_add(consent.lasts).unwrap_or_else(SystemTime::now);
            let consent = HeldConsent::new(consent.caller, consent.scope, until, consent.reason);
            return self.order(&Order::Grant(consent)).await;
        };
        let granted = state.consents().grant(consent).await;
        state.close().await?;
        Ok(granted?)
    }

    /// Takes a consent back, and says whether there was one. When it returns, the consent does not hold any more.
    pub async fn withdraw(&self, caller: &str, scope: &ConsentScope) -> Result<bool, DeskError> {
        let Some(state) = self.open().await? else {
            let was_held = self.list(Some(caller)).await?.iter().any(|held| held.scope == *scope);
            self.order(&Order::Withdraw { caller: caller.to_owned(), scope: scope.clone() }).await?;
            return Ok(was_held);
        };
        let taken = state.consents().withdraw(caller, scope).await;
        state.close().await?;
        Ok(taken?)
    }

    /// The consents for `caller` that hold, or everybody's, sorted by caller and scope.
    pub async fn list(&self, caller: Option<&str>) -> Result<Vec<HeldConsent>, DeskError> {
        match folder::look(&self.folder).map_err(OpenError::Folder)? {
            Found::Nothing => return Ok(Vec::new()),
            Found::Lost => return Err(OpenError::Lost.into()),
            Found::State | Found::Taken => {}
        }
        let mut connection = connect::reading(&self.folder).await?;
        let kept = held(&mut connection).await?;
        connection.close().await?;
        let now_ms = to_ms(SystemTime::now());
        let holds =
            |held: &HeldConsent| to_ms(held.until) > now_ms && caller.is_none_or(|caller| held.caller == caller);
        let mut held: Vec<HeldConsent> = kept.into_iter().filter(holds).collect();
        held.sort_by(|a, b| (&a.caller, &a.scope).cmp(&(&b.caller, &b.scope)));
        Ok(held)
    }

    /// The state, unless a service runs on it.
    async fn open(&self) -> Result<Option<State>, DeskError> {
        match State::open(StateOptions::new(&self.folder)).await {
            Ok(state) => Ok(Some(state)),
            Err(OpenError::Taken) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Has the service that runs carry out an order, and waits until it has.
    async fn order(&self, order: &Order) -> Result<(), DeskError> {
        if let Found::Lost = folder::look(&self.folder).map_err(OpenError::Folder)? {
            return Err(OpenError::Lost.into());
        }
        let mut connection = connect::ordering(&self.folder).await?;
        let id = orders::place(order, &mut connection).await?;
        let ended = carried_out(id, &mut connection).await;
        connection.close().await?;
        ended
    }
}

/// Waits until the order of this number is carried out, and takes it back where nobody does it.
async fn carried_out(id: i64, connection: &mut SqliteConnection) -> Result<(), DeskError> {
    let began = Instant::now();
    while orders::waits(id, connection).await? {
        if began.elapsed() >= PATIENCE {
            return if orders::cancel(id, connection).await? { Err(DeskError::NotTaken) } else { Ok(()) };
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}
