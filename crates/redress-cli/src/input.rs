//! The input of a call, as it was given: typed, in a file, or piped.

use std::io::{self, Read as _};

use serde::de::IgnoredAny;

use crate::trouble::Trouble;

/// The input as JSON; nothing at all is an empty object.
pub(crate) fn read(given: Option<&str>) -> Result<Vec<u8>, Trouble> {
    let bytes = match given {
        None => b"{}".to_vec(),
        Some("-") => {
            let mut bytes = Vec::new();
            let piped = io::stdin().read_to_end(&mut bytes);
            piped.map_err(|cause| Trouble::FileUnreadable { path: "the standard input".to_owned(), cause })?;
            bytes
        }
        Some(text) => match text.strip_prefix('@') {
            Some(path) => {
                std::fs::read(path).map_err(|cause| Trouble::FileUnreadable { path: path.to_owned(), cause })?
            }
            None => text.as_bytes().to_vec(),
        },
    };
    serde_json::from_slice::<IgnoredAny>(&bytes).map_err(Trouble::InputNotJson)?;
    Ok(bytes)
}
