//! What came back from a call, with what a test wants to know about it.

use redress_contract::{Envelope, Meta, OutputJson, Problem};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Event;

/// What came back from a call: the envelope, exactly as a face would send it.
#[derive(Clone, Debug)]
pub struct CallAnswer(pub(super) Envelope);

impl CallAnswer {
    /// The output, read as `T`.
    ///
    /// # Panics
    ///
    /// When the call ended badly, or its output is not a `T`.
    #[track_caller]
    pub fn output<T: DeserializeOwned>(&self) -> T {
        match read(&self.0) {
            Ok(output) => output,
            Err(says) => panic!("{says}"),
        }
    }

    /// The bad ending.
    ///
    /// # Panics
    ///
    /// When the call ended well.
    #[track_caller]
    pub fn problem(&self) -> &Problem {
        match self.0.problem() {
            Some(problem) => problem,
            None => panic!("the call ended well: {}", self.text()),
        }
    }

    /// The code of the bad ending; nothing where the call ended well.
    pub fn code(&self) -> Option<&str> {
        self.0.code()
    }

    /// The details of the bad ending; `null` where there are none.
    ///
    /// # Panics
    ///
    /// When the call ended well.
    #[track_caller]
    pub fn details(&self) -> Value {
        details(self.problem())
    }

    /// Every byte that leaves.
    pub fn bytes(&self) -> Vec<u8> {
        self.0.to_bytes()
    }

    /// The whole envelope as a value.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes()).unwrap_or_default()
    }

    /// The envelope itself.
    pub fn envelope(&self) -> &Envelope {
        &self.0
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }
}

impl From<Envelope> for CallAnswer {
    fn from(envelope: Envelope) -> CallAnswer {
        CallAnswer(envelope)
    }
}

/// The details of a problem as a value.
pub(super) fn details(problem: &Problem) -> Value {
    problem.details.as_ref().and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

/// The output of `envelope`, or why there is none.
pub(super) fn read<T: DeserializeOwned>(envelope: &Envelope) -> Result<T, String> {
    match (envelope.output(), envelope.problem()) {
        (Some(output), _) => serde_json::from_slice(output).map_err(|error| {
            format!("the output is no `{}`: {error}: {}", std::any::type_name::<T>(), String::from_utf8_lossy(output))
        }),
        (None, problem) => {
            let code = problem.map_or("no code", |problem| problem.code.as_str());
            Err(format!("the call ended with {code}: {}", String::from_utf8_lossy(&envelope.to_bytes())))
        }
    }
}

/// What came back from a subscription, read to its end.
#[derive(Debug)]
pub struct Collected {
    pub(super) items: Vec<OutputJson>,
    /// The bad ending, if it was one.
    pub(super) failed: Option<Envelope>,
    pub(super) completed: Option<Meta>,
    /// How many events came after the end, where none may.
    pub(super) after: usize,
}

impl Collected {
    pub(super) fn refused(envelope: Envelope) -> Collected {
        Collected { items: Vec::new(), failed: Some(envelope), completed: None, after: 0 }
    }

    pub(super) fn push(&mut self, event: Event) {
        if self.failed.is_some() || self.completed.is_some() {
            self.after += 1;
        }
        match event {
            Event::Item(output) => self.items.push(output),
            Event::Completed(meta) => self.completed = Some(meta),
            Event::Failed(envelope) => self.failed = Some(envelope),
        }
    }

    /// The items, read as `T`.
    ///
    /// # Panics
    ///
    /// When an item is not a `T`.
    #[track_caller]
    pub fn items<T: DeserializeOwned>(&self) -> Vec<T> {
        let read = |item: &OutputJson| match serde_json::from_slice(item.json()) {
            Ok(item) => item,
            Err(error) => panic!("an item is no `{}`: {error}", std::any::type_name::<T>()),
        };
        self.items.iter().map(read).collect()
    }

    /// Whether the stream came to its own good end.
    pub fn is_completed(&self) -> bool {
        self.completed.is_some()
    }

    /// The bad ending, if it was one: of the subscription itself, or of the stream.
    pub fn failed(&self) -> Option<&Envelope> {
        self.failed.as_ref()
    }

    /// How many events came after the end. The engine promises none.
    pub fn after_the_end(&self) -> usize {
        self.after
    }

    /// Every byte that left.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> =
            self.items.iter().flat_map(|item| item.json().iter().copied().chain([b'\n'])).collect();
        if let Some(envelope) = &self.failed {
            bytes.extend(envelope.to_bytes());
        }
        if let Some(meta) = &self.completed {
            bytes.extend(serde_json::to_vec(meta).unwrap_or_default());
        }
        bytes
    }
}
