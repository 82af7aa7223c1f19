//! The file of tokens: read by the service, written by whoever makes and revokes them.

use std::{
    collections::HashSet,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write as _},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant, SystemTime},
};

use redress_core::Secret;
use serde::{Deserialize, Serialize};

use super::{NewToken, TokenEntry, text};
use crate::{AccessError, instant, names};

/// The most bytes of a file of tokens: some two hundred thousand of them.
const MAX_SIZE: u64 = 64 << 20;
/// How long a change waits for another one.
const PATIENCE: Duration = Duration::from_secs(10);

/// The file of bearer tokens.
///
/// It holds hashes, so that reading it gives nobody a token. Each change is written beside it and put in its place in
/// one step, by one writer at a time: a reader sees the file before or after, never in between.
///
/// ```
/// use redress_access::{NewToken, TokenFile};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("tokens.json");
/// let file = TokenFile::at(path);
/// let (token, entry) = file.create(NewToken::new("ada").scopes(["files:read"]).note("laptop")).unwrap();
/// assert!(token.expose().starts_with("rd_"));
/// assert_eq!(file.list().unwrap(), [entry.clone()]);
/// file.revoke(&entry.id).unwrap();
/// assert!(file.list().unwrap().is_empty());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenFile {
    path: PathBuf,
}

/// The file as it is written.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenDocument {
    tokens: Vec<TokenEntry>,
}

impl TokenFile {
    /// The file at `path`, which need not be there yet.
    pub fn at(path: impl Into<PathBuf>) -> TokenFile {
        TokenFile { path: path.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The tokens, in the order in which they were made.
    pub fn list(&self) -> Result<Vec<TokenEntry>, AccessError> {
        let bytes = match redress_disk::read(&self.path, MAX_SIZE) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(AccessError::Read { path: self.path.clone(), source }),
        };
        let malformed = |error: serde_json::Error| AccessError::TokensMalformed {
            path: self.path.clone(),
            line: error.line(),
            column: error.column(),
        };
        let document: TokenDocument = serde_json::from_slice(&bytes).map_err(malformed)?;
        let mut ids = HashSet::new();
        for entry in &document.tokens {
            self.check(entry)?;
            // Which of two is in force and which is revoked would be left to chance.
            if !ids.insert(&entry.id) {
                return Err(AccessError::TokenTwice { path: self.path.clone(), id: entry.id.clone() });
            }
        }
        Ok(document.tokens)
    }

    /// Makes a token. It is returned this once; the file keeps its hash.
    pub fn create(&self, new: NewToken) -> Result<(Secret, TokenEntry), AccessError> {
        new.check()?;
        let (id, token) = text::draw()?;
        let NewToken { caller, scopes, expires, note } = new;
        let entry = TokenEntry {
            id,
            caller,
            scopes,
            hash: text::hex(&text::hash(token.expose())),
            created: instant::whole(SystemTime::now()),
            expires: expires.map(instant::whole),
            note,
        };
        let kept = entry.clone();
        self.change(|tokens| {
            tokens.push(kept);
            Ok(())
        })?;
        Ok((token, entry))
    }

    /// Takes the token called `id` away.
    pub fn revoke(&self, id: &str) -> Result<TokenEntry, AccessError> {
        self.change(|tokens| {
            let found = tokens.iter().position(|entry| entry.id == id);
            let missing = || AccessError::TokenMissing { path: self.path.clone(), id: id.to_owned() };
            found.map(|index| tokens.remove(index)).ok_or_else(missing)
        })
    }

    /// Changes the file under its lock.
    fn change<T>(&self, change: impl FnOnce(&mut Vec<TokenEntry>) -> Result<T, AccessError>) -> Result<T, AccessError> {
        // The lock is another file, since this one is replaced.
        let lock = self.beside("lock");
        let locked = redress_disk::append(&lock).and_then(|file| {
            #[cfg(unix)]
            file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
            held(&file)?;
            Ok(file)
        });
        let _locked = locked.map_err(|source| AccessError::Write { path: lock, source })?;
        let mut tokens = self.list()?;
        let changed = change(&mut tokens)?;
        self.replace(tokens).map_err(|source| self.unwritten(source))?;
        Ok(changed)
    }

    /// Puts the new content in the place of the old in one step, and only once it is on the disk.
    fn replace(&self, tokens: Vec<TokenEntry>) -> io::Result<()> {
        let mut bytes = serde_json::to_vec_pretty(&TokenDocument { tokens })?;
        bytes.push(b'\n');
        // The lock is held, so what is there under this name was left by a writer that was killed.
        let temporary = self.beside("new");
        let _ = fs::remove_file(&temporary);
        let mut file = private().write(true).create_new(true).open(&temporary)?;
        let written = (|| {
            keep_owner(&self.path, &file)?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            fs::rename(&temporary, &self.path)
        })();
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written?;
        sync_folder(&self.path)
    }

    fn beside(&self, ending: &str) -> PathBuf {
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(".");
        name.push(ending);
        self.path.with_file_name(name)
    }

    fn check(&self, entry: &TokenEntry) -> Result<(), AccessError> {
        let id = || entry.id.escape_debug().to_string();
        let unusable = |member| Err(AccessError::TokenUnusable { path: self.path.clone(), id: id(), member });
        // An underscore ends the id in the text of a token, so no token could bear such an id.
        if entry.id.is_empty() || entry.id.contains('_') || !names::is_printable(&entry.id) {
            return unusable("id");
        }
        if names::check(&entry.caller, &[]).is_err() {
            return unusable("caller");
        }
        if !entry.scopes.iter().all(|scope| names::is_scope(scope)) {
            return unusable("scopes");
        }
        if !entry.note.as_deref().is_none_or(names::is_printable) {
            return unusable("note");
        }
        if text::from_hex(&entry.hash).is_none() {
            return unusable("hash");
        }
        Ok(())
    }

    fn unwritten(&self, source: io::Error) -> AccessError {
        AccessError::Write { path: self.path.clone(), source }
    }
}

/// Takes the lock, and waits for whoever has it no longer than it is worth.
fn held(file: &File) -> io::Result<()> {
    let until = Instant::now() + PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if Instant::now() < until => thread::sleep(Duration::from_millis(10)),
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "another process is changing the tokens, and does not end",
                ));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// How files are made that only their owner may read.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Gives the new file to the owner of the old one: an administrator who makes a token must not take the file away
/// from the service.
#[cfg(unix)]
fn keep_owner(old: &Path, new: &File) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    let old = match fs::metadata(old) {
        Ok(old) => old,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let own = new.metadata()?;
    if (old.uid(), old.gid()) == (own.uid(), own.gid()) {
        return Ok(());
    }
    fchown(new, Some(old.uid()), Some(old.gid()))
}

#[cfg(not(unix))]
fn keep_owner(_: &Path, _: &File) -> io::Result<()> {
    Ok(())
}

/// Makes sure that the new name outlives a power cut too.
#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
