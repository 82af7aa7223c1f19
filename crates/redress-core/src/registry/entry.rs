//! One operation, made ready to be called.

use std::{
    collections::HashMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use redress_contract::{self as contract, Breach, Caller, Code, Content, Origin, OutputJson};
use redress_input::{InputShape, SchemaError, breach_of};

use crate::{
    Credentials, Guard, Operation, Settings,
    author::{access_check::OperationCheck, handler::BoundHandler, verification::Verifying},
    path::StillCalled,
    registry::prepared::Prepared,
    similar::NameSketch,
};

/// Outputs up to so many bytes are all the same.
const SMALL_OUTPUT: usize = 1024;

/// One operation, made ready to be called.
pub(crate) struct RegisteredOperation {
    /// Its place among the entries.
    pub(crate) place: usize,
    pub(crate) declaration: contract::OperationDeclaration,
    /// Of its name, for callers who write it nearly right.
    pub(crate) sketch: NameSketch,
    pub(crate) bound: BoundHandler,
    pub(crate) check: Option<OperationCheck>,
    pub(crate) input: InputShape,
    output: OnceLock<Option<InputShape>>,
    failures: HashMap<Code, Prepared, foldhash::fast::RandomState>,
    pub(crate) deadline: Duration,
    pub(crate) max_input: usize,
    /// How many bytes its recent outputs had: the most of them, forgotten bit by bit.
    expected_output: AtomicUsize,
    /// Whether a type gives what the handler does. What is declared as data alone is always checked.
    pub(crate) typed: bool,
    pub(crate) credentials: Credentials,
    /// How its caller finds out whether a call that was cut off took place.
    pub(crate) verifying: Option<Box<Verifying>>,
    /// As whom it calls others.
    pub(crate) authority: Arc<Caller>,
    /// The namespace of the extension that it belongs to, whose handlers write bare codes.
    extension: Option<String>,
    /// Whether it comes with redress itself, and is tested there.
    #[cfg(feature = "testing")]
    pub(crate) of_redress: bool,
    /// Whether it is hidden while the service runs.
    pub(crate) hidden: AtomicBool,
    /// Who still calls it, where it is deprecated.
    pub(crate) still_called: Option<Box<StillCalled>>,
    /// The guards that cover it.
    pub(crate) guards: Vec<Arc<dyn Guard>>,
}

impl RegisteredOperation {
    pub(crate) fn new(
        operation: Operation,
        place: usize,
        guards: &[Arc<dyn Guard>],
        settings: &Settings,
    ) -> Result<RegisteredOperation, SchemaError> {
        #[cfg(feature = "testing")]
        let of_redress = operation.owner == crate::author::operation::REDRESS;
        let Operation { declaration, bound, typed, credentials, check, .. } = operation;
        let input = bound.shape(declaration.input().as_value().clone())?;
        let guards: Vec<_> = guards.iter().filter(|guard| guard.covers(&declaration)).cloned().collect();
        let failures = declaration
            .failures()
            .iter()
            .map(|failure| (failure.code().clone(), Prepared::new(failure.clone())))
            .collect();
        let authority =
            Caller::new(format!("operation:{}", declaration.name())).scopes(declaration.authority().iter().cloned());
        Ok(RegisteredOperation {
            place,
            sketch: NameSketch::of(declaration.name().as_str()),
            verifying: declaration.verification().map(|verification| Box::new(Verifying::new(verification))),
            authority: Arc::new(authority),
            extension: (declaration.origin() == Origin::Extension).then(|| declaration.name().namespace().to_owned()),
            bound,
            check,
            input,
            output: OnceLock::new(),
            failures,
            deadline: declaration.deadline().unwrap_or(settings.deadline),
            max_input: declaration.max_input().unwrap_or(settings.max_input),
            expected_output: AtomicUsize::new(0),
            typed,
            credentials,
            #[cfg(feature = "testing")]
            of_redress,
            hidden: AtomicBool::new(false),
            still_called: (declaration.deprecated().is_some() || !declaration.aliases().is_empty()).then(Box::default),
            guards,
            declaration,
        })
    }

    /// Whether it is hidden while the service runs.
    pub(crate) fn is_hidden(&self) -> bool {
        self.hidden.load(Ordering::Acquire)
    }

    /// How many bytes its next output is expected to have.
    pub(crate) fn expected_output(&self) -> usize {
        self.expected_output.load(Ordering::Relaxed)
    }

    /// Takes note of how many bytes an output had.
    pub(crate) fn note_output(&self, bytes: usize) {
        let before = self.expected_output();
        // Small ones are not worth that the cores contend for the counter.
        if bytes <= SMALL_OUTPUT && before <= SMALL_OUTPUT {
            return;
        }
        let expected = bytes.max(before - before / 16);
        if expected != before {
            self.expected_output.store(expected, Ordering::Relaxed);
        }
    }

    /// Whether it takes this input. A stream is not called for one answer, so none is taken for that.
    pub(crate) fn accepts(&self, input: &[u8]) -> bool {
        match &self.bound {
            BoundHandler::Once(handler) => handler.accepts(&self.input, input),
            BoundHandler::Stream(_) | BoundHandler::Nothing => false,
        }
    }

    /// The declared failure of this code: one lookup.
    pub(crate) fn failure(&self, code: &str) -> Option<&Prepared> {
        match (self.failures.get(code), &self.extension) {
            (None, Some(namespace)) => self.failures.get(format!("{namespace}.{code}").as_str()),
            (found, _) => found,
        }
    }

    /// Where `output` is not what the declaration says. The schema is compiled on first use.
    pub(crate) fn output_breach(&self, output: &OutputJson) -> Option<Breach> {
        let shape = self.output.get_or_init(|| InputShape::dynamic(self.declaration.output().as_value().clone()).ok());
        breach_of(shape.as_ref(), output.json())
    }

    /// The input member that holds source to be run, and its language.
    pub(crate) fn source(&self) -> Option<(&str, &str)> {
        match self.declaration.content() {
            Content::Plain => None,
            Content::Eval { source, language } => Some((source, language)),
        }
    }
}
