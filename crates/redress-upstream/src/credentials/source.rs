//! Where a secret comes from: the environment, a file or a command, read again when it may have changed.

use std::{fmt, path::PathBuf, process::Stdio, sync::Arc, time::Duration};

use parking_lot::Mutex;
use redress_core::Secret;
use tokio::{io::AsyncReadExt as _, time::Instant};
use zeroize::Zeroizing;

/// The most bytes that a secret may have.
const MAX: u64 = 64 * 1024;
/// For how long what a file said is not looked at again.
const FILE_LASTS: Duration = Duration::from_secs(2);
/// For how long what a command said holds.
const COMMAND_LASTS: Duration = Duration::from_secs(300);
/// How long a command may take.
const COMMAND_TIME: Duration = Duration::from_secs(10);
/// What a service refused is not asked for again before this.
const AGAIN: Duration = Duration::from_secs(1);

/// Where a secret comes from. It is never part of a configuration itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretFrom {
    /// The environment variable of this name.
    Env(String),
    /// The file at this path, without the line break at its end.
    File(PathBuf),
    /// What this command prints, without the line break at its end: the program, then its arguments. No shell reads it.
    Command(Vec<String>),
}

impl fmt::Display for SecretFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SecretFrom::Env(name) => write!(f, "the environment variable `{name}`"),
            SecretFrom::File(path) => write!(f, "the file `{}`", path.display()),
            SecretFrom::Command(words) => write!(f, "the command `{}`", words.first().map_or("", String::as_str)),
        }
    }
}

/// Why a secret could not be had. It says nothing of the secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{from} {why}")]
pub struct SecretMissing {
    /// Where it was to come from.
    pub from: String,
    /// What is wrong there.
    pub why: &'static str,
}

/// A secret that is read when it is needed, and kept for a while.
pub(crate) struct SourcedSecret {
    from: SecretFrom,
    kept: Mutex<Option<(Secret, Instant)>>,
    /// Held while it is read: whoever needs it meanwhile waits for that.
    reading: tokio::sync::Mutex<()>,
}

impl SourcedSecret {
    pub(crate) fn new(from: SecretFrom) -> Arc<SourcedSecret> {
        Arc::new(SourcedSecret { from, kept: Mutex::default(), reading: tokio::sync::Mutex::default() })
    }

    /// The secret as it is now.
    pub(crate) async fn get(&self) -> Result<Secret, SecretMissing> {
        match self.kept(self.lasts()) {
            Some(secret) => Ok(secret),
            None => self.read(self.lasts()).await,
        }
    }

    /// The secret, read again because a service refused the one that was sent.
    pub(crate) async fn renewed(&self) -> Result<Secret, SecretMissing> {
        self.read(AGAIN).await
    }

    fn lasts(&self) -> Duration {
        match self.from {
            SecretFrom::Env(_) => Duration::MAX,
            SecretFrom::File(_) => FILE_LASTS,
            SecretFrom::Command(_) => COMMAND_LASTS,
        }
    }

    fn kept(&self, lasts: Duration) -> Option<Secret> {
        let kept = self.kept.lock();
        kept.as_ref().filter(|(_, since)| since.elapsed() < lasts).map(|(secret, _)| secret.clone())
    }

    async fn read(&self, lasts: Duration) -> Result<Secret, SecretMissing> {
        let _reading = self.reading.lock().await;
        // Somebody else may have read it meanwhile.
        if let Some(secret) = self.kept(lasts) {
            return Ok(secret);
        }
        let missing = |why| SecretMissing { from: self.from.to_string(), why };
        let bytes = match &self.from {
            SecretFrom::Env(name) => std::env::var(name).map(String::into_bytes).map_err(|_| missing("is not set"))?,
            SecretFrom::File(path) => {
                let path = path.clone();
                let read = tokio::task::spawn_blocking(move || redress_disk::read(path, MAX)).await;
                read.ok().and_then(Result::ok).ok_or_else(|| missing("cannot be read"))?
            }
            SecretFrom::Command(words) => run(words).await.map_err(missing)?,
        };
        let bytes = Zeroizing::new(bytes);
        let text = std::str::from_utf8(&bytes).map_err(|_| missing("holds no text"))?;
        let text = text.trim_end_matches(['\r', '\n']);
        if text.is_empty() {
            return Err(missing("is empty"));
        }
        if text.chars().any(char::is_control) {
            return Err(missing("holds more than one line"));
        }
        let secret = Secret::new(text);
        *self.kept.lock() = Some((secret.clone(), Instant::now()));
        Ok(secret)
    }
}

impl fmt::Debug for SourcedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourcedSecret").field("from", &self.from).finish_non_exhaustive()
    }
}

/// What a command prints. Its own errors stay with whoever started the gateway.
async fn run(words: &[String]) -> Result<Vec<u8>, &'static str> {
    let [program, arguments @ ..] = words else { return Err("is empty") };
    let mut child = tokio::process::Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .spawn()
        .map_err(|_| "cannot be started")?;
    let Some(stdout) = child.stdout.take() else { return Err("cannot be started") };
    let printed = async {
        let mut bytes = Vec::new();
        stdout.take(MAX).read_to_end(&mut bytes).await.map_err(|_| "cannot be read")?;
        let status = child.wait().await.map_err(|_| "cannot be waited for")?;
        if status.success() { Ok(bytes) } else { Err("ended with an error") }
    };
    tokio::time::timeout(COMMAND_TIME, printed).await.unwrap_or(Err("took too long"))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(from: SecretFrom) -> Result<String, String> {
        let secret = SourcedSecret::new(from);
        secret.get().await.map(|secret| secret.expose().to_owned()).map_err(|missing| missing.to_string())
    }

    fn command(words: &[&str]) -> SecretFrom {
        SecretFrom::Command(words.iter().map(|word| (*word).to_owned()).collect())
    }

    #[tokio::test]
    async fn a_secret_comes_from_a_variable_a_file_or_a_command() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "from-a-file\n").unwrap();
        assert_eq!(read(SecretFrom::File(path)).await.unwrap(), "from-a-file");
        assert_eq!(read(command(&["echo", "from-a-command"])).await.unwrap(), "from-a-command");
        // Cargo sets this one for every test.
        assert_eq!(read(SecretFrom::Env("CARGO_PKG_NAME".into())).await.unwrap(), "redress-upstream");
    }

    #[tokio::test]
    async fn what_is_missing_is_named_and_never_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "two\nlines").unwrap();
        for (from, why) in [
            (SecretFrom::Env("REDRESS_NO_SUCH_VARIABLE".into()), "is not set"),
            (SecretFrom::File(folder.path().join("none")), "cannot be read"),
            (SecretFrom::File(path), "holds more than one line"),
            (command(&["false"]), "ended with an error"),
            (command(&["true"]), "is empty"),
            (command(&["redress-no-such-program"]), "cannot be started"),
            (command(&[]), "is empty"),
        ] {
            let error = read(from).await.unwrap_err();
            assert!(error.ends_with(why), "{error}");
        }
    }

    #[tokio::test]
    async fn a_file_that_was_exchanged_is_read_without_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "old-key").unwrap();
        let secret = SourcedSecret::new(SecretFrom::File(path.clone()));
        assert_eq!(secret.get().await.unwrap().expose(), "old-key");
        std::fs::write(&path, "new-key").unwrap();
        assert_eq!(secret.get().await.unwrap().expose(), "old-key", "it is not read for each call");
        tokio::time::pause();
        tokio::time::advance(FILE_LASTS).await;
        tokio::time::resume();
        assert_eq!(secret.get().await.unwrap().expose(), "new-key");
        assert!(!format!("{secret:?}").contains("new-key"));
    }
}
