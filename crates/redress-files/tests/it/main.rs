//! The file operations, called the way a face calls them.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "everything here is part of a test, and a helper that fails fails its test")]

mod changing;
mod comparison;
mod crashing;
mod declared;
#[cfg(target_os = "linux")]
mod disks;
mod escaping;
mod folder;
mod guide;
mod looking;
mod moving;
mod permissions;
mod racing;
mod searching;
mod tasks;
mod verifying;
mod watching;
