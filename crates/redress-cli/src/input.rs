//! The input of a call, as it was given: typed, in a file, or piped.

use std::io;

use serde::de::IgnoredAny;

use crate::error::CliError;

/// The most bytes of an input: larger ones no server takes.
const MAX_SIZE: u64 = 256 << 20;

/// The input as JSON; nothing at all is an empty object.
pub(crate) fn read(given: Option<&str>) -> Result<Vec<u8>, CliError> {
    let bytes = match given {
        None => b"{}".to_vec(),
        Some("-") => {
            let piped = redress_disk::take(io::stdin().lock(), MAX_SIZE);
            piped.map_err(|cause| CliError::FileUnreadable { path: "the standard input".to_owned(), cause })?
        }
        Some(text) => match text.strip_prefix('@') {
            Some(path) => redress_disk::read_once(path, MAX_SIZE)
                .map_err(|cause| CliError::FileUnreadable { path: path.to_owned(), cause })?,
            None => text.as_bytes().to_vec(),
        },
    };
    serde_json::from_slice::<IgnoredAny>(&bytes).map_err(CliError::InputNotJson)?;
    Ok(bytes)
}
