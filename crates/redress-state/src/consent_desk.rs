//! The consents of a folder, for a person who may write it.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use redress_core::{Consent, ConsentScope, HeldConsent};
use sqlx::{Connection as _, SqliteConnection};

use crate::{
    clock::to_ms,
    connect,
    consent_orders::{self, ConsentOrder, OrderStage},
    consents,
    folder::{self, Borrowed, FolderScan, NotLocked},
    inspect::shape,
    state::{OpenStateError, held},
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
    Open(#[from] OpenStateError),
    /// The file cannot be read or written.
    #[error("the state file cannot be used")]
    File(#[from] sqlx::Error),
    /// There is no state in the folder: a consent that is kept where no service looks would let nothing pass.
    #[error("there is no state in `{}`", .0.display())]
    Missing(PathBuf),
    /// The file is of an older version.
    #[error("the state file is of an older version: start the service on it once, which brings it into today's shape")]
    Outdated,
    /// The service that runs on the folder cannot read the order.
    #[error(
        "the service that runs on this state folder cannot read the order, so that nothing has changed: use the command \
         of the same version"
    )]
    Refused,
    /// The service that runs on the folder has not carried the order out in time, and it was taken back.
    #[error(
        "the service that runs on this state folder did not take the order within five seconds, and it was taken back"
    )]
    NotTaken,
}

/// The consents of a state folder, for a person who may write it: whoever can change the file needs no other credential.
/// Where a service runs on the folder, it carries out what is ordered here; where none does, the file is changed at once,
/// and the next service tells of it in its log. There has to be a state in the folder: a service makes it.
///
/// ```
/// use std::time::Duration;
/// use redress_core::Consent;
/// use redress_state::ConsentDesk;
/// # use redress_state::{StateStore, StateOptions};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # let folder = tempfile::tempdir().unwrap();
/// # let folder = folder.path().join("state");
/// # StateStore::open(StateOptions::new(&folder)).await.unwrap().close().await.unwrap();
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
        let until = SystemTime::now().checked_add(consent.lasts).unwrap_or_else(SystemTime::now);
        let consent = HeldConsent::new(consent.caller, consent.scope, until, consent.reason);
        self.change(&ConsentOrder::Grant(consent)).await
    }

    /// Takes a consent back, and says whether there was one. When it returns, the consent does not hold any more. Where
    /// there is none, nothing is ordered, and no log tells that something was taken back.
    pub async fn withdraw(&self, caller: &str, scope: &ConsentScope) -> Result<bool, DeskError> {
        if !self.has_state()? {
            return Err(DeskError::Missing(self.folder.clone()));
        }
        let mut connection = connect::reading(&self.folder).await?;
        let kept = async {
            is_todays(&mut connection).await?;
            Ok::<_, DeskError>(held(&mut connection).await?)
        };
        let kept = kept.await;
        connection.close().await?;
        let named: Vec<_> = kept?.into_iter().filter(|held| held.caller == caller && held.scope == *scope).collect();
        // One that does not hold yet, since a clock was ahead, is taken back too.
        if named.is_empty() {
            return Ok(false);
        }
        self.change(&ConsentOrder::Withdraw { caller: caller.to_owned(), scope: scope.clone() }).await?;
        let now_ms = to_ms(SystemTime::now());
        Ok(named.iter().any(|held| consents::holds(held, now_ms)))
    }

    /// The consents for `caller` that hold, or everybody's, sorted by caller and scope.
    pub async fn list(&self, caller: Option<&str>) -> Result<Vec<HeldConsent>, DeskError> {
        if !self.has_state()? {
            return Ok(Vec::new());
        }
        let mut connection = connect::reading(&self.folder).await?;
        let kept = held(&mut connection).await?;
        connection.close().await?;
        let now_ms = to_ms(SystemTime::now());
        let holds =
            |held: &HeldConsent| consents::holds(held, now_ms) && caller.is_none_or(|caller| held.caller == caller);
        let mut held: Vec<HeldConsent> = kept.into_iter().filter(holds).collect();
        held.sort_by(|a, b| (&a.caller, &a.scope).cmp(&(&b.caller, &b.scope)));
        Ok(held)
    }

    /// Whether there is a state in the folder.
    fn has_state(&self) -> Result<bool, DeskError> {
        match folder::look(&self.folder).map_err(OpenStateError::Folder)? {
            FolderScan::Nothing => Ok(false),
            FolderScan::Lost => Err(OpenStateError::Lost.into()),
            FolderScan::State | FolderScan::Taken => Ok(true),
        }
    }

    /// Makes a change, or has the service make it that runs on the folder. Nothing in the file is touched but consents and
    /// their orders: what else is past its time, only the service knows by its configuration.
    async fn change(&self, order: &ConsentOrder) -> Result<(), DeskError> {
        if !self.has_state()? {
            return Err(DeskError::Missing(self.folder.clone()));
        }
        let borrowed = self.borrow()?;
        let mut connection = connect::ordering(&self.folder).await?;
        let changed = match (is_todays(&mut connection).await, &borrowed) {
            (Err(error), _) => Err(error),
            (Ok(()), Some(_)) => carry_out(order, None, &mut connection).await,
            (Ok(()), None) => self.have_carried_out(order, &mut connection).await,
        };
        connection.close().await?;
        // Not before the file is closed.
        drop(borrowed);
        changed
    }

    /// The folder, unless somebody has it.
    fn borrow(&self) -> Result<Option<Borrowed>, DeskError> {
        match folder::borrow(&self.folder) {
            Ok(borrowed) => Ok(Some(borrowed)),
            Err(NotLocked::Taken) => Ok(None),
            Err(NotLocked::Io(error)) => Err(OpenStateError::Folder(error).into()),
        }
    }

    /// Has the service that runs carry out an order, and waits until it has.
    async fn have_carried_out(&self, order: &ConsentOrder, connection: &mut SqliteConnection) -> Result<(), DeskError> {
        let id = consent_orders::place(order, connection).await?;
        let began = Instant::now();
        loop {
            match consent_orders::stage(id, connection).await? {
                OrderStage::CarriedOut => return Ok(()),
                OrderStage::Refused => {
                    consent_orders::cancel(id, connection).await?;
                    return Err(DeskError::Refused);
                }
                OrderStage::Waits => {}
            }
            // It may have been somebody else's desk that had the folder, or the service has ended since.
            if let Some(_borrowed) = self.borrow()? {
                return carry_out(order, Some(id), connection).await;
            }
            if began.elapsed() >= PATIENCE {
                return if consent_orders::cancel(id, connection).await? { Err(DeskError::NotTaken) } else { Ok(()) };
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// Carries out an order where no service runs. It stays in the file, so that the next service tells of it in its log; one
/// that has been placed and is gone was carried out by somebody else.
async fn carry_out(
    order: &ConsentOrder,
    placed: Option<i64>,
    connection: &mut SqliteConnection,
) -> Result<(), DeskError> {
    let mut change = connection.begin_with("BEGIN IMMEDIATE").await?;
    let waits = match placed {
        Some(id) => consent_orders::stage(id, &mut change).await? != OrderStage::CarriedOut,
        None => consent_orders::place(order, &mut change).await.map(|_| true)?,
    };
    if waits {
        consent_orders::carry_out(order, &mut change).await?;
    }
    change.commit().await?;
    Ok(())
}

/// Whether the file has today's shape. To bring it there is left to the service: an older one could not open it any more.
async fn is_todays(connection: &mut SqliteConnection) -> Result<(), DeskError> {
    let steps = shape(connection).await?;
    if steps < connect::migrator().iter().count() { Err(DeskError::Outdated) } else { Ok(()) }
}
