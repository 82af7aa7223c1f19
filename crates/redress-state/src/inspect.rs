//! Looking at a state that is not opened.

use std::path::Path;

use sqlx::{Connection as _, Row as _, SqliteConnection, migrate::MigrateError};

use crate::{
    connect,
    folder::{self, FolderScan},
    state::{OpenStateError, StateStore},
};

impl StateStore {
    /// Looks whether [`open`](StateStore::open) would find a state that it can use, without making or changing one. A folder
    /// without a state is as good as one with it.
    pub async fn look(folder: impl AsRef<Path>) -> Result<(), OpenStateError> {
        let folder = folder.as_ref();
        match folder::look(folder) {
            Ok(FolderScan::State) => {}
            Ok(FolderScan::Nothing) => return Ok(()),
            Ok(FolderScan::Taken) => return Err(OpenStateError::Taken),
            Ok(FolderScan::Lost) => return Err(OpenStateError::Lost),
            Err(error) => return Err(OpenStateError::Folder(error)),
        }
        let mut connection = connect::reading(folder).await?;
        shape(&mut connection).await?;
        connection.close().await?;
        Ok(())
    }
}

/// Whether every step that the file has been through is known here, and how many those are.
pub(crate) async fn shape(connection: &mut SqliteConnection) -> Result<usize, OpenStateError> {
    let begun = "SELECT count(*) FROM sqlite_master WHERE name = '_sqlx_migrations'";
    if sqlx::query_scalar::<_, i64>(begun).fetch_one(&mut *connection).await? == 0 {
        return Ok(0);
    }
    let migrator = connect::migrator();
    let taken = sqlx::query("SELECT version, checksum FROM _sqlx_migrations").fetch_all(connection).await?;
    for row in &taken {
        let (version, checksum): (i64, Vec<u8>) = (row.try_get(0)?, row.try_get(1)?);
        let Some(known) = migrator.iter().find(|step| step.version == version) else {
            return Err(OpenStateError::Shape(MigrateError::VersionMissing(version)));
        };
        if *known.checksum != *checksum {
            return Err(OpenStateError::Shape(MigrateError::VersionMismatch(version)));
        }
    }
    Ok(taken.len())
}
