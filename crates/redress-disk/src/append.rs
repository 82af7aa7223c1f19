//! Writing at the end.

use std::{fs::File, io, path::Path, time::Duration};

use crate::patience::{PATIENCE, within};

/// Opens a file to write at its end, and makes it where it is not there. For somebody who reads from a pipe it waits no
/// longer than for a disk.
pub fn append(path: impl AsRef<Path>) -> io::Result<File> {
    append_within(path.as_ref(), PATIENCE, open)
}

fn append_within(
    path: &Path,
    patience: Duration,
    open: impl FnOnce(&Path, Duration) -> io::Result<File> + Send + 'static,
) -> io::Result<File> {
    let owned = path.to_owned();
    // Half of it is for a pipe, so that it is a pipe that is told of and not a disk.
    within(path, patience, move || open(&owned, patience / 2))
}

#[cfg(unix)]
fn open(path: &Path, patience: Duration) -> io::Result<File> {
    use std::{os::unix::fs::FileTypeExt as _, thread, time::Instant};

    use rustix::{
        fs::{Mode, OFlags},
        io::Errno,
    };
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOCTTY;
    let until = Instant::now() + patience;
    let file: File = loop {
        match rustix::fs::open(path, flags | OFlags::NONBLOCK, Mode::from_raw_mode(0o666)) {
            Ok(file) => break file.into(),
            Err(Errno::NXIO) if Instant::now() < until => thread::sleep(Duration::from_millis(20)),
            Err(Errno::NXIO) => return Err(io::Error::other("it is a pipe that nobody reads, or a socket")),
            Err(error) => return Err(error.into()),
        }
    };
    if file.metadata()?.file_type().is_block_device() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a disk, and has to be a file"));
    }
    // Only opening was not to wait: what is written waits for room, on the thread of whoever writes.
    rustix::fs::fcntl_setfl(&file, OFlags::APPEND)?;
    Ok(file)
}

#[cfg(not(unix))]
fn open(path: &Path, _: Duration) -> io::Result<File> {
    std::fs::OpenOptions::new().create(true).append(true).open(path)
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::{Read as _, Write as _};

    use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};

    use super::*;

    #[test]
    fn a_pipe_that_nobody_reads_is_not_waited_for_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let refused = open(&pipe, Duration::from_millis(30)).unwrap_err();
        assert!(refused.to_string().contains("nobody reads"), "{refused}");
        let mut reader = File::from(rustix::fs::open(&pipe, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty()).unwrap());
        append(&pipe).unwrap().write_all(b"read").unwrap();
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "read");
    }

    #[test]
    fn a_disk_that_hangs_is_not_waited_for_for_ever_when_a_file_is_opened_to_be_written() {
        let (answer, waits) = std::sync::mpsc::channel::<()>();
        let path = Path::new("/a/share/that/hangs/on/opening");
        let hung = append_within(path, Duration::from_millis(20), move |path, patience| {
            let _ = waits.recv();
            open(path, patience)
        });
        assert_eq!(hung.unwrap_err().kind(), io::ErrorKind::TimedOut);
        drop(answer);
    }

    #[test]
    fn what_is_written_comes_at_the_end_of_a_file_and_a_folder_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new");
        for text in ["one", "two"] {
            append(&file).unwrap().write_all(text.as_bytes()).unwrap();
        }
        assert_eq!(std::fs::read_to_string(file).unwrap(), "onetwo");
        assert!(append(folder.path()).is_err());
        append("/dev/null").unwrap();
    }
}
