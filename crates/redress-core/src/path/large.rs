//! What a large input or output takes, off the async workers: the same steps in the same order, each no longer waited
//! for than the call may take.

use std::sync::Arc;

use redress_contract::Output;

use super::{Asked, Bad, Call, converse::fingerprint_of, read::Refused};
use crate::{
    Fingerprint,
    handler::{ReadInput, Reads},
    idempotency::fingerprint,
    input::DecodeError,
    offload::{Abandon, LARGE, offload},
    registry::Entry,
};

impl Asked<'_> {
    /// Whether work on the input is done off the workers.
    #[inline]
    pub(super) fn is_large(&self) -> bool {
        self.input.len() > LARGE
    }

    /// Whether its refusal is explained off the workers. An explanation may take many steps for each byte, and some
    /// hundred thousand for none; those that a small input has are done within milliseconds.
    #[inline]
    pub(super) fn is_long_to_explain(&self) -> bool {
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
    pub(super) async fn note_any_input(&mut self, asked: &Asked<'_>) -> Result<(), Box<Bad>> {
        if asked.is_large() {
            return Box::pin(self.note_large_input(asked)).await;
        }
        self.note_input(asked);
        Ok(())
    }

    async fn note_large_input(&mut self, asked: &Asked<'_>) -> Result<(), Box<Bad>> {
        let (true, Some(audit)) = (self.wants_digest(asked), self.ctx.registry.0.audit.clone()) else { return Ok(()) };
        let input = asked.copied();
        let digest = self.within(async { Ok(offload(move || audit.digest(&input)).await) }).await?;
        self.note_digest(digest);
        Ok(())
    }

    /// Size and input schema of a large input: the input as the handler takes it, or what is said about its refusal.
    pub(super) async fn read_large(
        &self,
        entry: &Arc<Entry>,
        reader: Arc<dyn Reads>,
        asked: &Asked<'_>,
    ) -> Result<ReadInput, Box<Bad>> {
        self.size(entry, asked)?;
        let abandon = Abandon::default();
        let (entry, input, extent, abandoned) = (Arc::clone(entry), asked.copied(), self.extent(), abandon.flag());
        let read = move || match extent.passed_by(&input) {
            Some(beyond) => Err(Refused::Beyond(beyond)),
            None => reader
                .read(&entry.input, &input)
                .map_err(|error| Refused::explained(&*reader, &entry.input, extent, &input, error, &abandoned)),
        };
        let read = self.within(async { Ok(offload(read).await) }).await?;
        read.map_err(|refused| self.refused_input(refused))
    }

    /// Everything from the input's schema to the content guard, for an input that is large or that a check looks at: the
    /// input as the handler takes it, and the declared failure of the check that the call ends with in its place.
    pub(super) async fn read_checked(
        &self,
        entry: &Arc<Entry>,
        reader: Arc<dyn Reads>,
        asked: &Asked<'_>,
    ) -> Result<(ReadInput, Option<Box<Bad>>), Box<Bad>> {
        let input = if asked.is_large() {
            self.read_large(entry, reader, asked).await?
        } else {
            self.measure(asked)?;
            match reader.read(&entry.input, &asked.input) {
                Ok(input) => input,
                Err(error) if asked.is_long_to_explain() => {
                    return Err(self.explain_apart(entry, reader, asked, error).await);
                }
                Err(error) => return Err(self.explain(entry, &*reader, &asked.input, error)),
            }
        };
        let failed = match &entry.check {
            None => None,
            Some(check) => {
                let checking = self.check(entry, check, &input);
                checking.await?
            }
        };
        if asked.is_large() {
            self.large_content(entry, asked).await?;
        } else {
            self.content(entry, &asked.input)?;
        }
        Ok((input, failed))
    }

    /// Explains the refusal of an input that is not large, and may still take long to explain.
    pub(super) async fn explain_apart(
        &self,
        entry: &Arc<Entry>,
        reader: Arc<dyn Reads>,
        asked: &Asked<'_>,
        error: DecodeError,
    ) -> Box<Bad> {
        let abandon = Abandon::default();
        let (entry, input, extent, abandoned) = (Arc::clone(entry), asked.copied(), self.extent(), abandon.flag());
        let explained = offload(move || Refused::explained(&*reader, &entry.input, extent, &input, error, &abandoned));
        match self.within(async { Ok(explained.await) }).await {
            Ok(refused) => self.refused_input(refused),
            Err(bad) => bad,
        }
    }

    /// Content guard of a large input.
    pub(super) async fn large_content(&self, entry: &Arc<Entry>, asked: &Asked<'_>) -> Result<(), Box<Bad>> {
        if entry.source().is_none() {
            return Ok(());
        }
        let (registry, entry, input) = (self.ctx.registry.clone(), Arc::clone(entry), asked.copied());
        let checked = offload(move || registry.content(&entry, &input));
        self.within(async { Ok(checked.await) }).await?.map_err(|blocked| self.blocked(blocked))
    }

    /// What tells the input from another one under the same idempotency key.
    pub(super) async fn key_fingerprint(&self, asked: &Asked<'_>) -> Fingerprint {
        if !asked.is_large() {
            return fingerprint(&asked.input);
        }
        let input = asked.copied();
        offload(move || fingerprint(&input)).await
    }

    /// [`check_output`](Call::check_output) of a large output.
    pub(super) async fn check_large_output(&self, entry: &Arc<Entry>, output: Output) -> Result<Output, Box<Bad>> {
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
    pub(super) fn is_large_output(&self, entry: &Entry, output: &Output) -> bool {
        self.checks(entry) && output.json().len() > LARGE
    }

    /// [`belongs`](Call::belongs) of a large input.
    pub(super) async fn large_belongs(&self, entry: &Arc<Entry>, asked: &Asked<'_>) -> Result<(), Box<Bad>> {
        let Some(asking) = self.resumable().filter(|asking| asking.is_resumed()) else { return Ok(()) };
        let fingerprint = self.within(async { Ok(self.large_fingerprint(entry, asked).await) }).await?;
        if asking.belongs(|| fingerprint) { Ok(()) } else { Err(self.of_another_call()) }
    }

    /// [`fingerprint`](Call::fingerprint) of a large input.
    pub(super) async fn large_fingerprint(&self, entry: &Arc<Entry>, asked: &Asked<'_>) -> String {
        let (entry, caller, input) = (Arc::clone(entry), self.ctx.caller.clone(), asked.copied());
        offload(move || fingerprint_of(&entry, caller.as_deref(), &input)).await
    }
}
