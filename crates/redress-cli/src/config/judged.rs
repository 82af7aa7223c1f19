//! A configuration as text, judged as `redress serve` would judge it.

use super::{ConfigDocument, File, ServeSettings};
use crate::{
    CliErrorCode,
    arguments::{BoundsArgs, FolderArgs, ServeArgs},
    error::CliError,
};

/// Why a configuration is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigRefused {
    /// The code, which has a page.
    pub code: CliErrorCode,
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
    let document = ConfigDocument { path: "redress.toml".into(), text: text.to_owned() };
    let judged = File::of(&document).and_then(|file| {
        ServeSettings::of(&ServeArgs::default(), &FolderArgs::default(), &BoundsArgs::default(), file, Some(document))
    });
    judged.map(drop).map_err(|trouble| ConfigRefused {
        code: trouble.code(),
        line: line(&trouble),
        says: trouble.to_string(),
        hint: trouble.hint(),
    })
}

fn line(trouble: &CliError) -> Option<usize> {
    if let CliError::ConfigUnknownKey { line, .. } = trouble {
        return Some(*line);
    }
    if let CliError::ConfigInvalid { line, .. } = trouble { *line } else { None }
}
