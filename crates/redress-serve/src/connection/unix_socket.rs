//! The file of a Unix socket: made with its mode, and removed at the end.

use std::{
    fs, io,
    os::unix::{
        fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _},
        net::{UnixListener as StdListener, UnixStream},
    },
    path::{Path, PathBuf},
};

use tokio::net::UnixListener;

/// The file of a socket, removed when it is dropped unless it is another's by then.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    id: (u64, u64),
}

/// Listens at `path`. The socket is made under another name and moved there, so that nobody
/// meets it before its mode is set, and a stale one is never missing.
pub(crate) fn open(path: &Path, mode: u32) -> io::Result<(UnixListener, SocketFile)> {
    check_free(path)?;
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let aside = path.with_file_name(format!(".{}.{:08x}", name.to_string_lossy(), fastrand::u32(..)));
    let listener = StdListener::bind(&aside)?;
    let moved = listener
        .set_nonblocking(true)
        .and_then(|()| fs::set_permissions(&aside, fs::Permissions::from_mode(mode)))
        .and_then(|()| fs::rename(&aside, path))
        .and_then(|()| Ok((UnixListener::from_std(listener)?, SocketFile::of(path)?)));
    if moved.is_err() {
        let _ = fs::remove_file(&aside);
    }
    moved
}

/// Whether a socket may be made at `path`: nothing is there, or a socket on which nobody listens.
fn check_free(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(metadata) if !metadata.file_type().is_socket() => Err(io::ErrorKind::AlreadyExists.into()),
        Ok(_) => match UnixStream::connect(path) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
            Err(error) => Err(error),
            Ok(_) => Err(io::ErrorKind::AddrInUse.into()),
        },
    }
}

impl SocketFile {
    fn of(path: &Path) -> io::Result<SocketFile> {
        let metadata = fs::symlink_metadata(path)?;
        Ok(SocketFile { path: path.to_owned(), id: (metadata.dev(), metadata.ino()) })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let is_ours =
            |metadata: fs::Metadata| metadata.file_type().is_socket() && (metadata.dev(), metadata.ino()) == self.id;
        if fs::symlink_metadata(&self.path).is_ok_and(is_ours) {
            let _ = fs::remove_file(&self.path);
        }
    }
}
