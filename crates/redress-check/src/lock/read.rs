//! A lock from bytes, of which nothing is believed.

use serde_json::Value;

use super::{
    Lock,
    canonical::{VERSION, VERSION_MEMBER},
};

/// The most bytes of a lock that is read.
pub const MAX_LOCK: usize = 32 << 20;
/// The most operations of a lock.
const MAX_OPERATIONS: usize = 20_000;

/// Why a lock could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// It is larger than is read.
    #[error("the lock has {size} bytes, and at most {max} are read")]
    TooLarge {
        /// How many bytes it has.
        size: usize,
        /// The most that are read.
        max: usize,
    },
    /// It is not JSON, or ends too early.
    #[error("the lock is not JSON")]
    Syntax(#[source] serde_json::Error),
    /// It is JSON, and no lock.
    #[error("the document is no lock: it has no number under `redress_lock`")]
    NotLock,
    /// It is a lock of another version.
    #[error("the lock has version {version}, and this program reads version {known}")]
    Version {
        /// The version that it says it has.
        version: u64,
        /// The version that is read.
        known: u64,
    },
    /// Something in it is not as it should be.
    #[error("the lock does not hold what a lock holds")]
    Content(#[source] serde_json::Error),
    /// An operation stands under another name than its own.
    #[error("`{name}` stands under the name `{key}`")]
    Misnamed {
        /// The name under which it stands.
        key: String,
        /// Its own name.
        name: String,
    },
    /// There are more operations than are read.
    #[error("the lock has {count} operations, and at most {max} are read")]
    TooMany {
        /// How many there are.
        count: usize,
        /// The most that are read.
        max: usize,
    },
    /// It was changed by hand, or put together from two.
    #[error("the lock says that its hash is {said}, and it is {found}: it was changed after it was written")]
    Hash {
        /// The hash that it says it has.
        said: String,
        /// The hash that it has.
        found: String,
    },
}

impl Lock {
    /// Whether a document says of itself that it is a lock.
    pub fn is_lock(document: &[u8]) -> bool {
        let start = document.get(..4096).unwrap_or(document);
        let word = format!("\"{VERSION_MEMBER}\"");
        start.windows(word.len()).any(|window| window == word.as_bytes())
            || document
                .get(document.len().saturating_sub(4096)..)
                .is_some_and(|end| end.windows(word.len()).any(|window| window == word.as_bytes()))
    }

    /// Reads a lock.
    ///
    /// # Errors
    ///
    /// Where it is too large, no lock, of another version, or not as it was written.
    pub fn read(document: &[u8]) -> Result<Lock, LockError> {
        if document.len() > MAX_LOCK {
            return Err(LockError::TooLarge { size: document.len(), max: MAX_LOCK });
        }
        // The parser follows 128 levels and no more.
        let mut value: Value = serde_json::from_slice(document).map_err(LockError::Syntax)?;
        let Some(members) = value.as_object_mut() else { return Err(LockError::NotLock) };
        let version = members.remove(VERSION_MEMBER).and_then(|version| version.as_u64()).ok_or(LockError::NotLock)?;
        if version != VERSION {
            return Err(LockError::Version { version, known: VERSION });
        }
        let said = members.remove("hash");
        let lock: Lock = serde_json::from_value(value).map_err(LockError::Content)?;
        if lock.operations.len() > MAX_OPERATIONS {
            return Err(LockError::TooMany { count: lock.operations.len(), max: MAX_OPERATIONS });
        }
        if let Some((key, operation)) = lock.operations.iter().find(|(key, operation)| *key != operation.name()) {
            return Err(LockError::Misnamed { key: key.to_string(), name: operation.name().to_string() });
        }
        let found = lock.hash();
        match said {
            Some(Value::String(said)) if said == found => Ok(lock),
            said => {
                let said = said.as_ref().and_then(Value::as_str).unwrap_or("nothing").to_owned();
                Err(LockError::Hash { said, found })
            }
        }
    }
}
