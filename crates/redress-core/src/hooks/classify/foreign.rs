//! Errors of a library that nobody here knows, for tests.

use std::{error::Error, fmt};

/// An error that says what it is told to say.
#[derive(Debug)]
pub(super) struct Foreign {
    text: String,
    cause: Option<Box<dyn Error + Send + Sync>>,
}

impl Foreign {
    pub(super) fn new(text: impl Into<String>) -> Foreign {
        Foreign { text: text.into(), cause: None }
    }

    pub(super) fn caused_by(mut self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Foreign {
        self.cause = Some(cause.into());
        self
    }
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for Foreign {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as &(dyn Error + 'static))
    }
}

/// An error that names itself as its cause.
#[derive(Debug)]
pub(super) struct Ring;

impl fmt::Display for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("round and round")
    }
}

impl Error for Ring {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self)
    }
}
