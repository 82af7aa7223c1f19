//! The failures that several operations share. None of them carries a path of the host.

use std::io;

use redress::{Failure, data};

use crate::wire_path::WirePath;

/// By which way a path would have left the folder.
#[data]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outside {
    /// It begins at the root of a file system or with a drive, and is not below the folder.
    Absolute,
    /// It has `..` in it.
    Parent,
    /// A link in it leads out.
    Link,
}

/// What is wrong with the way a path is written.
#[data]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Invalid {
    /// The path has more than 4096 bytes, or a name in it more than 255.
    TooLong,
    /// It has more than 64 names.
    TooDeep,
    /// It has a backslash in it; names are separated by `/`.
    Backslash,
    /// It has a control character in it.
    ControlCharacter,
    /// It has a character in it that is invisible or looks like a dot or a slash.
    OddCharacter,
    /// A name ends with a dot or a space, or is the name of a device.
    OddName,
    /// The name is one that these operations keep for themselves.
    Reserved,
    /// Links in it lead in a circle.
    LinkLoop,
    /// It is the folder itself, which cannot be changed.
    Top,
}

/// What can be wrong with any path.
#[derive(Debug, Failure)]
pub(crate) enum PathFailure {
    /// The path leads out of the folder that is served.
    #[failure(kind = validation, message = "the path leads out of the folder ({reason})", effect = none,
              recover(fix_input = "/path", hint = "Give a path relative to the served folder, such as `src/main.rs`, without `..`."))]
    PathOutside { reason: Outside },
    /// The path is not written in a way that names a file.
    #[failure(kind = validation, message = "the path cannot be used ({reason})", effect = none,
              recover(fix_input = "/path", hint = "Give a relative path of plain names separated by `/`."))]
    PathInvalid { reason: Invalid },
    /// The operating system does not let this service at the file or folder.
    #[failure(kind = forbidden, message = "the operating system denies access to {path}", effect = none,
              recover(ask_user, hint = "Ask for the permissions of this file to be changed."))]
    FilePermissionDenied { path: String },
}

impl PathFailure {
    pub(crate) fn outside(reason: Outside) -> PathFailure {
        PathFailure::PathOutside { reason }
    }

    pub(crate) fn invalid(reason: Invalid) -> PathFailure {
        PathFailure::PathInvalid { reason }
    }
}

/// That there is nothing where something was asked for.
#[derive(Debug, Failure)]
pub(crate) enum LookupFailure {
    /// There is no file or folder at the path.
    #[failure(kind = not_found, message = "no file at {path}", effect = none,
              recover(call = "files.list", bind(path = folder), why = "see what is there",
                      hint = "List the folder and pick a path that exists."))]
    FileNotFound {
        path: String,
        /// The nearest folder above it that exists.
        folder: String,
    },
}

/// That something is no regular file.
#[derive(Debug, Failure)]
pub(crate) enum FileFailure {
    /// What is at the path is a folder, and a file was asked for.
    #[failure(kind = validation, message = "{path} is a folder", effect = none, extends("NOT_A_FILE"),
              recover(call = "files.list", bind(path = path), why = "see what is in it",
                      hint = "List the folder and pick a file in it."))]
    FileIsFolder { path: String },
    /// What is at the path is no regular file: a pipe, socket or device.
    #[failure(kind = validation, message = "{path} is no regular file", effect = none,
              recover(call = "files.stat", bind(path = path), why = "see what it is",
                      hint = "Look at what it is and pick a file."))]
    NotAFile { path: String },
}

impl FileFailure {
    /// What is said of something that is no regular file.
    pub(crate) fn of(path: &WirePath, is_folder: bool) -> FileFailure {
        let path = path.as_str().to_owned();
        if is_folder { FileFailure::FileIsFolder { path } } else { FileFailure::NotAFile { path } }
    }
}

/// What can be wrong with a folder.
#[derive(Debug, Failure)]
#[failure(include(NotFolderFailure))]
pub(crate) enum FolderFailure {
    /// The folder does not exist.
    #[failure(kind = not_found, message = "no folder at {path}", effect = none,
              recover(fix_input = "/path", hint = "Give a folder that exists; `.` is the top."))]
    FolderNotFound { path: String },
}

/// That something is no folder.
#[derive(Debug, Failure)]
pub(crate) enum NotFolderFailure {
    /// What is at the path is no folder.
    #[failure(kind = validation, message = "{path} is no folder", effect = none,
              recover(fix_input = "/path", hint = "Give the path of a folder, not of a file."))]
    NotAFolder { path: String },
}

/// What can be wrong with the disk when something is changed. Nothing has been changed then.
#[derive(Debug, Failure)]
pub(crate) enum StorageFailure {
    /// There is no room left for the new content.
    #[failure(kind = unavailable, retryable = false, http = 507, effect = none,
              recover(ask_user, hint = "Ask for room to be made, then write again."))]
    StorageFull,
    /// The folder lies on a disk that cannot be changed.
    #[failure(kind = forbidden, effect = none,
              recover(stop, hint = "The disk is read-only; nothing here can be changed."))]
    StorageReadOnly,
}

/// What can be wrong with content that is given.
#[derive(Debug, Failure)]
pub(crate) enum ContentFailure {
    /// The content is not base64, as was said.
    #[failure(kind = validation, effect = none,
              recover(fix_input = "/content", hint = "Encode the bytes as standard base64 with padding."))]
    ContentNotBase64,
}

/// That content was put in its place, and nobody knows whether it stays there.
#[derive(Debug, Failure)]
pub(crate) enum UnconfirmedFailure {
    /// The content was written, and the disk did not confirm that it keeps it.
    #[failure(kind = unavailable, message = "{path} was written, and the disk did not confirm it", effect = unknown,
              recover(verify = "files.check", bind(path = path, sha256 = sha256), done = "/same", is = true,
                      why = "see whether it holds the new content, and have the disk confirm it",
                      hint = "Look whether the disk has the new content by now; make the call again if not."))]
    WriteUnconfirmed {
        path: String,
        /// The SHA-256 of the new content.
        sha256: String,
        #[source]
        cause: io::Error,
    },
}

/// That a file is not what the caller had seen.
#[derive(Debug, Failure)]
pub(crate) enum ChangedFailure {
    /// The file's content is not the one that was expected.
    #[failure(kind = conflict, message = "{path} has changed", effect = none,
              recover(call = "files.read", bind(path = path), why = "see what it holds",
                      hint = "Read the file again and decide from what it holds now."))]
    FileChanged {
        path: String,
        /// The SHA-256 of what it holds now.
        sha256: String,
    },
}
