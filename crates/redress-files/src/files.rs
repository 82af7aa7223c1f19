//! The folder that is served, and the operations over it.

use std::{io, path::PathBuf, sync::Arc};

use redress::{Builder, Operation};
use redress_core::IntoOperation as _;

use crate::{
    check::check, edit::edit, list::list, read::read, relocate::relocate, remove::remove, sandbox::Sandbox,
    search::search, search_stream::search_stream, slots::Slots, stat::stat, watch::watch, watchers::Watchers,
};

/// Which folder is served, and whether it may be changed.
#[derive(Clone, Debug)]
pub struct FilesOptions {
    /// The folder. Nothing outside it is ever read or changed.
    pub root: PathBuf,
    /// Whether the operations that change files are there at all.
    pub write: bool,
}

/// Why a folder cannot be served.
#[derive(Debug, thiserror::Error)]
#[error("the folder cannot be opened")]
pub struct OpenError(#[source] io::Error);

/// One open folder. A clone is the same folder.
///
/// It is held by a handle: renaming the folder while it is served changes nothing, and
/// replacing it by another one does not lead there.
#[derive(Clone)]
pub struct Files {
    pub(crate) sandbox: Arc<Sandbox>,
    pub(crate) slots: Arc<Slots>,
    pub(crate) watchers: Arc<Watchers>,
    write: bool,
}

impl Files {
    /// Opens the folder `root`, to be looked at only.
    pub fn open(root: impl Into<PathBuf>) -> Result<Files, OpenError> {
        Files::with_options(&FilesOptions { root: root.into(), write: false })
    }

    /// Opens a folder as `options` say.
    pub fn with_options(options: &FilesOptions) -> Result<Files, OpenError> {
        let sandbox = Arc::new(Sandbox::open(&options.root).map_err(OpenError)?);
        Ok(Files { sandbox, slots: Arc::default(), watchers: Arc::default(), write: options.write })
    }

    /// The operations over the folder: those that look, and with `write` those that change.
    /// They take this value as their state, `Registry::builder().state(files)`, which
    /// [`add_to`](Files::add_to) sees to.
    pub fn operations(&self, write: bool) -> Vec<Operation> {
        let mut operations = vec![
            list.into_operation(),
            stat.into_operation(),
            read.into_operation(),
            search.into_operation(),
            search_stream.into_operation(),
            watch.into_operation(),
        ];
        if write {
            operations.extend([
                crate::write::write.into_operation(),
                edit.into_operation(),
                relocate.into_operation(),
                remove.into_operation(),
                check.into_operation(),
            ]);
        }
        operations.into_iter().map(|operation| operation.with_owner("redress")).collect()
    }

    /// Adds the operations to `builder`, with the folder as their state.
    #[must_use]
    pub fn add_to(&self, builder: Builder) -> Builder {
        let builder = builder.state(self.clone());
        self.operations(self.write).into_iter().fold(builder, Builder::add)
    }
}

impl std::fmt::Debug for Files {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The folder's path is nobody's business, not even the log's.
        f.debug_struct("Files").field("write", &self.write).finish_non_exhaustive()
    }
}
