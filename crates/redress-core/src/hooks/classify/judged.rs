//! An error of which its author said what sort it is.

use std::{error::Error, fmt};

use redress_contract::Kind;

/// An error that is of this kind, whatever it looks like. To everything but the classification it is the error itself.
pub(crate) struct Judged {
    kind: Kind,
    error: Box<dyn Error + Send + Sync>,
}

impl Judged {
    pub(crate) fn new(kind: Kind, error: Box<dyn Error + Send + Sync>) -> Judged {
        Judged { kind, error }
    }

    /// What the author said of `error`, where one did.
    pub(crate) fn kind_of(error: &(dyn Error + 'static)) -> Option<Kind> {
        error.downcast_ref().map(|judged: &Judged| judged.kind)
    }

    /// The error itself, whether its kind was said or not.
    pub(crate) fn inside<'a>(error: &'a (dyn Error + Send + Sync + 'static)) -> &'a (dyn Error + 'static) {
        match error.downcast_ref::<Judged>() {
            Some(judged) => &*judged.error,
            None => error,
        }
    }
}

impl fmt::Debug for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.error, f)
    }
}

impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}

impl Error for Judged {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}
