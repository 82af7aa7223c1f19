//! What a path leads to.

use std::{
    fs::{self, FileType},
    io,
    path::Path,
};

/// Refuses what is no regular file, and says what it is.
pub(crate) fn regular(kind: FileType) -> io::Result<()> {
    if kind.is_file() {
        return Ok(());
    }
    let says = format!("it is {}, and has to be a regular file, which can be read again when it changes", name(kind));
    Err(io::Error::new(io::ErrorKind::InvalidInput, says))
}

/// What people call it.
pub(crate) fn name(kind: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        if kind.is_fifo() {
            return "a pipe";
        }
        if kind.is_socket() {
            return "a socket";
        }
        if kind.is_char_device() || kind.is_block_device() {
            return "a device";
        }
    }
    if kind.is_dir() { "a folder" } else { "no file" }
}

/// Whether two paths lead to one file, whatever their names. What is not there is no file.
pub fn is_same_file(one: impl AsRef<Path>, other: impl AsRef<Path>) -> bool {
    let (Ok(one), Ok(other)) = (one.as_ref().canonicalize(), other.as_ref().canonicalize()) else { return false };
    one == other || is_same_inode(&one, &other)
}

#[cfg(unix)]
fn is_same_inode(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let inode = |path: &Path| fs::metadata(path).map(|file| (file.dev(), file.ino()));
    inode(one).is_ok_and(|one| inode(other).is_ok_and(|other| one == other))
}

#[cfg(not(unix))]
fn is_same_inode(_: &Path, _: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_file_is_the_same_by_every_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("one"), "").unwrap();
        fs::write(at("other"), "").unwrap();
        fs::hard_link(at("one"), at("hard")).unwrap();
        std::os::unix::fs::symlink(at("one"), at("soft")).unwrap();
        for name in ["one", "hard", "soft", "./one"] {
            assert!(is_same_file(at("one"), at(name)), "{name}");
        }
        assert!(!is_same_file(at("one"), at("other")) && !is_same_file(at("none"), at("none")));
    }
}
