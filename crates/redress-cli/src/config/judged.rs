//! A configuration as text, judged as `redress serve` would judge it.

use super::{Document, File, Settings};
use crate::{
    TroubleCode,
    arguments::{Bounds, Folder, Serve},
    trouble::Trouble,
};

/// Why a configuration is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigRefused {
    /// The code, which has a page.
    pub code: TroubleCode,
    /// The line, counted from one, where one line is at fault.
    pub line: Option<usize>,
    /// What is wrong.
    pub says: String,
    /// What to do.
    pub hint: String,
}

/// Judges the text of a `redress.toml` as `redress serve` would: its syntax, every key and value, and whether they
/// make sense together. Nothing that it names is opened.
///
/// ```
/// assert!(redress_cli::check_config("[serve]\nlisten = \"127.0.0.1:0\"\n").is_ok());
/// let refused = redress_cli::check_config("[serve]\nlisen = \"127.0.0.1:0\"\n").unwrap_err();
/// assert_eq!((refused.code.as_str(), refused.line), ("CONFIG_UNKNOWN_KEY", Some(2)));
/// ```
pub fn check_config(text: &str) -> Result<(), ConfigRefused> {
    let document = Document { path: "redress.toml".into(), text: text.to_owned() };
    let judged = File::of(&document)
        .and_then(|file| Settings::of(&Serve::default(), &Folder::default(), &Bounds::default(), file, Some(document)));
    judged.map(drop).map_err(|trouble| ConfigRefused {
        code: trouble.code(),
        line: line(&trouble),
        says: trouble.to_string(),
        hint: trouble.hint(),
    })
}

fn line(trouble: &Trouble) -> Option<usize> {
    if let Trouble::ConfigUnknownKey { line, .. } = trouble {
        return Some(*line);
    }
    if let Trouble::ConfigInvalid { line, .. } = trouble { *line } else { None }
}
