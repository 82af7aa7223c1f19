//! Reading.

use std::{
    fs::{self, File, Metadata},
    io::{self, Read},
    path::Path,
};

use crate::{
    kind,
    patience::{PATIENCE, within},
};

/// What is in a regular file of at most `max` bytes.
pub fn read(path: impl AsRef<Path>, max: u64) -> io::Result<Vec<u8>> {
    let path = path.as_ref();
    let owned = path.to_owned();
    within(path, PATIENCE, move || {
        let file = open(&owned)?;
        // Asked of the file that is open: the path may lead elsewhere by now.
        let about = file.metadata()?;
        kind::regular(about.file_type())?;
        if about.len() > max {
            return Err(too_large(max));
        }
        take(file, max)
    })
}

/// What is in a file or comes through a pipe, for a command that reads once and that a person can break off. At most `max`
/// bytes are taken, and the time is not bounded.
pub fn read_once(path: impl AsRef<Path>, max: u64) -> io::Result<Vec<u8>> {
    take(File::open(path)?, max)
}

/// What `from` gives, at most `max` bytes.
pub fn take(from: impl Read, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > max { Err(too_large(max)) } else { Ok(bytes) }
}

/// What is known of the file at `path`.
pub fn metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    let path = path.as_ref();
    let owned = path.to_owned();
    within(path, PATIENCE, move || fs::metadata(owned))
}

/// Opens without waiting for anybody at the other end.
#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

fn too_large(max: u64) -> io::Error {
    let says = format!("it is larger than {max} bytes, the most that is read here");
    io::Error::new(io::ErrorKind::FileTooLarge, says)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::net::UnixListener;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn what_is_no_regular_file_is_refused_at_once_and_called_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let (pipe, socket) = (folder.path().join("pipe"), folder.path().join("socket"));
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let _listener = UnixListener::bind(&socket).unwrap();
        let says = |path: &Path| read(path, 10).unwrap_err().to_string();
        assert!(says(&pipe).starts_with("it is a pipe,"), "{}", says(&pipe));
        assert!(says(folder.path()).starts_with("it is a folder,"), "{}", says(folder.path()));
        assert!(says(Path::new("/dev/zero")).starts_with("it is a device,"));
        assert!(read(socket, 10).is_err());
        // A link to one is as good as the thing itself.
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        assert!(says(&link).starts_with("it is a device,"));
    }

    #[test]
    fn as_much_is_read_as_is_allowed_and_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "12345").unwrap();
        assert_eq!(read(&file, 5).unwrap(), b"12345");
        assert_eq!(read(&file, 4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(take(io::repeat(0), 1 << 20).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(read(folder.path().join("none"), 4).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
