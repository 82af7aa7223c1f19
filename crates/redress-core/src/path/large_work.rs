//! What a large input or output takes, off the async workers: the same steps in the same order, each no longer waited
//! for than the call may take.

use std::sync::{Arc, atomic::Ordering};

use redress_contract::OutputJson;
use redress_input::DecodeError;

use super::{Call, CallInput, CallStop, FailedCall, converse::fingerprint_of, invalid_input::InputRefusal};
use crate::{
    Fingerprint,
    author::handler::{InputReader, ReadInput},
    hooks::idempotency::fingerprint,
    offload::{Abandon, LARGE, offload},
    registry::RegisteredOperation,
};

impl CallInput<'_> {
    /// Whether work on the input is done off the workers.
    #[inline]
    pub(super) fn is_large(&self) -> bool {
        self.input.len() > LARGE
    }

    /// Whether its refusal is explained off the workers from the beginning. An explanation may take many steps for each
    /// byte, and some hundred thousand for none, so that of a small input is only begun on a worker.
    #[inline]
    fn is_long_to_explain(&self) -> bool {
        self.input.len() > LARGE / 16
    }

    /// The input, for work that outlives the call.
    fn copied(&self) -> Arc<[u8]> {
        Arc::from(&*self.input)
    }
}

impl Call {
    /// [`note_input`](Call::note_input), wherever it is done.
    #[inline]
    pub(super) async fn note_any_input(&mut self, call_input: &CallInput<'_>) -> Result<(), CallStop> {
        if call_input.is_large() {
            return Box::pin(self.note_large_input(call_input)).await;
        }
        self.note_input(call_input);
        Ok(())
    }

    async fn note_large_input(&mut self, call_input: &CallInput<'_>) -> Result<(), CallStop> {
        let (true, Some(audit)) = (self.wants_digest(call_input), self.ctx.registry.0.audit.clone()) else {
            return Ok(());
        };
        let input = call_input.copied();
        let digest = self.within(async { Ok(offload(move || audit.digest(&input)).await) }).await?;
        self.note_digest(digest);
        Ok(())
    }

    /// Size and input schema of a large input: the input as the handler takes it, or what is said about its refusal.
    pub(super) async fn read_large(
        &self,
        entry: &Arc<RegisteredOperation>,
        reader: Arc<dyn InputReader>,
        call_input: &CallInput<'_>,
    ) -> Result<ReadInput, CallStop> {
        self.size(entry, call_input)?;
        let abandon = Abandon::default();
        let (entry, input, extent, abandoned) = (Arc::clone(entry), call_input.copied(), self.extent(), abandon.flag());
        let stop = move || abandoned.load(Ordering::Relaxed);
        let read = move || match extent.passed_by(&input) {
            Some(beyond) => Err(InputRefusal::Beyond(beyond)),
            None => reader
                .read(&entry.input, &input)
                .map_err(|error| InputRefusal::explained(&*reader, &entry.input, extent, &input, error, &stop)),
        };
        let read = self.within(async { Ok(offload(read).await) }).await?;
        Ok(read.map_err(|refused| self.refused_input(refused))?)
    }

    /// Everything from the input's schema to the content guard, for an input that is large or that a check looks at: the
    /// input as the handler takes it, and the declared failure of the check that the call ends with in its place.
    pub(super) async fn read_checked(
        &self,
        entry: &Arc<RegisteredOperation>,
        reader: Arc<dyn InputReader>,
        call_input: &CallInput<'_>,
    ) -> Result<(ReadInput, Option<Box<FailedCall>>), CallStop> {
        let input = if call_input.is_large() {
            self.read_large(entry, reader, call_input).await?
        } else {
            self.measure(call_input)?;
            match reader.read(&entry.input, &call_input.input) {
                Ok(input) => input,
                Err(error) => return Err(self.explain(entry, reader, call_input, error).await),
            }
        };
        let failed = match &entry.check {
            None => None,
            Some(check) => {
                let checking = self.check(entry, check, &input);
                checking.await?
            }
        };
        if call_input.is_large() {
            self.large_content(entry, call_input).await?;
        } else {
            self.content(entry, &call_input.input)?;
        }
        Ok((input, failed))
    }

    /// Explains the refusal of an input that is not large: here, where that takes a moment, and off the workers where it
    /// takes longer.
    pub(super) async fn explain(
        &self,
        entry: &Arc<RegisteredOperation>,
        reader: Arc<dyn InputReader>,
        call_input: &CallInput<'_>,
        error: DecodeError,
    ) -> CallStop {
        if !call_input.is_long_to_explain() {
            let soon = InputRefusal::explained_soon(&*reader, &entry.input, self.extent(), &call_input.input, error);
            if let Some(refused) = soon {
                return self.refused_input(refused).into();
            }
        }
        let abandon = Abandon::default();
        let (entry, input, extent, abandoned) = (Arc::clone(entry), call_input.copied(), self.extent(), abandon.flag());
        let stop = move || abandoned.load(Ordering::Relaxed);
        let explained = offload(move || InputRefusal::explained(&*reader, &entry.input, extent, &input, error, &stop));
        match self.within(async { Ok(explained.await) }).await {
            Ok(refused) => self.refused_input(refused).into(),
            Err(stop) => stop,
        }
    }

    /// Content guard of a large input.
    pub(super) async fn large_content(
        &self,
        entry: &Arc<RegisteredOperation>,
        call_input: &CallInput<'_>,
    ) -> Result<(), CallStop> {
        if entry.source().is_none() {
            return Ok(());
        }
        let (registry, entry, input) = (self.ctx.registry.clone(), Arc::clone(entry), call_input.copied());
        let checked = offload(move || registry.content(&entry, &input));
        Ok(self.within(async { Ok(checked.await) }).await?.map_err(|blocked| self.blocked(blocked))?)
    }

    /// What tells the input from another one under the same idempotency key.
    pub(super) async fn key_fingerprint(&self, call_input: &CallInput<'_>) -> Fingerprint {
        if !call_input.is_large() {
            return fingerprint(&call_input.input);
        }
        let input = call_input.copied();
        offload(move || fingerprint(&input)).await
    }

    /// [`check_output`](Call::check_output) of a large output.
    pub(super) async fn check_large_output(
        &self,
        entry: &Arc<RegisteredOperation>,
        output: OutputJson,
    ) -> Result<OutputJson, Box<FailedCall>> {
        let checked = Arc::clone(entry);
        let (output, breach) = offload(move || {
            let breach = checked.output_breach(&output);
            (output, breach)
        })
        .await;
        match breach {
            None => Ok(output),
            Some(breach) => self.broken_output(entry, output, breach),
        }
    }

    /// Whether to check the output is work for another thread.
    #[inline]
    pub(super) fn is_large_output(&self, entry: &RegisteredOperation, output: &OutputJson) -> bool {
        self.checks(entry) && output.json().len() > LARGE
    }

    /// [`belongs`](Call::belongs) of a large input.
    pub(super) async fn large_belongs(
        &self,
        entry: &Arc<RegisteredOperation>,
        call_input: &CallInput<'_>,
    ) -> Result<(), CallStop> {
        let Some(asking) = self.resumable().filter(|asking| asking.is_resumed()) else { return Ok(()) };
        let fingerprint = self.within(async { Ok(self.large_fingerprint(entry, call_input).await) }).await?;
        if asking.belongs(|| fingerprint) { Ok(()) } else { Err(self.of_another_call().into()) }
    }

    /// [`fingerprint`](Call::fingerprint) of a large input.
    pub(super) async fn large_fingerprint(
        &self,
        entry: &Arc<RegisteredOperation>,
        call_input: &CallInput<'_>,
    ) -> String {
        let (entry, caller, input) = (Arc::clone(entry), self.ctx.caller.clone(), call_input.copied());
        offload(move || fingerprint_of(&entry, caller.as_deref(), &input)).await
    }
}
