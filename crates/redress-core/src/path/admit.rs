//! Caller, access, consent, limits and size: who may go on, before anything is decoded.

use std::sync::Arc;

use redress_contract::{Caller, Denied, EngineCode, Json};
use redress_input::{Beyond, Extent, document};
use serde_json::json;
use tokio::time::Instant;

use super::{Call, CallInput, CallStop, FailedCall, quota::QuotaReservation};
use crate::{
    Answer, Limited, LimitedCall, Permit, Question, QuestionKind, Refusal, hooks::consent, offload::offload,
    registry::RegisteredOperation,
};

/// What the person behind a call says to it.
enum ConsentOutcome {
    Yes,
    No,
    Unanswered,
    Unasked,
}

/// A call that was let in: it is found, who calls is known and may, a person has agreed where that is needed, there is room
/// for its answer, and the limits have taken it. Whoever has this goes on with the input, here or in another task.
pub(crate) struct Admitted {
    /// Held until the call ends.
    pub(super) permits: Permits,
}

/// What the limits have handed out. There is seldom more than one, which needs no list.
#[derive(Default)]
pub(crate) struct Permits {
    first: Option<Permit>,
    others: Vec<Permit>,
    /// What the call takes from the allowances of its caller.
    pub(super) quota: Option<QuotaReservation>,
}

impl Permits {
    /// Tells them that the handler runs; see [`Hold::ran`](crate::Hold::ran).
    pub(super) fn ran(&mut self, since: Option<Instant>) {
        for permit in self.first.iter_mut().chain(&mut self.others) {
            permit.ran(since);
        }
    }
}

/// Whether a call had to wait for more than its handler since the limits admitted it, by no doing of the handler's: for
/// a check, a guard, a quota's file or another thread that reads a large input.
#[inline]
pub(super) fn waited(entry: &RegisteredOperation, call_input: &CallInput<'_>, counted: bool) -> bool {
    counted || entry.check.is_some() || !entry.guards.is_empty() || call_input.is_large()
}

impl Call {
    /// Tells who calls: the face's own word, or a token that the identity provider knows.
    /// A token that tells nobody refuses the call, since its sender believes to be somebody.
    pub(super) async fn identify(&self, call_input: &CallInput<'_>) -> Result<Option<Arc<Caller>>, Box<FailedCall>> {
        let Some(token) = &call_input.token else { return Ok(self.ctx.caller.clone()) };
        match self.ctx.registry.identify(token).await {
            Ok(caller) => Ok(Some(caller)),
            Err(error) => {
                tracing::debug!(request_id = %self.ctx.request_id, %error, "a token tells nobody");
                Err(self.refuse_by(Refusal::unidentified(error)))
            }
        }
    }

    /// Access comes before decoding: a caller who may not call an operation must not learn
    /// its input schema from our error text.
    pub(super) fn access(&self, entry: &RegisteredOperation) -> Result<(), Box<FailedCall>> {
        match entry.declaration.access().admit(self.ctx.caller.as_deref()) {
            Ok(()) => Ok(()),
            Err(Denied::NoCaller) => {
                let details = json!({"operation": entry.declaration.name()});
                let mut bad = self.refuse_with(EngineCode::AuthRequired, &details);
                if let Some(hint) = self.ctx.sign_in {
                    bad.problem.hint = hint.into();
                }
                Err(bad)
            }
            Err(Denied::Scopes { missing, one_is_enough }) => {
                Err(FailedCall::new(Refusal::missing_scopes(&missing, one_is_enough).into_problem()))
            }
        }
    }

    /// Whether a person has agreed that this caller calls an operation that needs it.
    pub(super) async fn has_agreed(&self, entry: &RegisteredOperation) -> Result<bool, Box<FailedCall>> {
        let Some(caller) = &self.ctx.caller else { return Err(self.refuse(EngineCode::AuthRequired)) };
        self.ctx.registry.0.consent.has(caller, entry.declaration.name()).await.map_err(|error| {
            tracing::error!(request_id = %self.ctx.request_id, operation = self.operation(), cause = %self.logged(&*error.0), "the consents cannot tell, and the call is refused");
            Call::cannot_keep()
        })
    }

    /// Asks the person behind the call, where that can be done, and says what became of the limits. They come first
    /// then: nobody is asked for a call that is refused all the same, nor more often than a caller may call. What they
    /// hand out is held while the person thinks, and for the rest of the call.
    pub(super) async fn agree_within_limits(
        &self,
        entry: &Arc<RegisteredOperation>,
        call_input: &CallInput<'_>,
    ) -> Result<Option<Box<Permits>>, CallStop> {
        let permits = if self.can_ask_consent() { Some(Box::new(self.all_limits(entry).await?)) } else { None };
        self.within(self.agree(entry, call_input)).await?;
        Ok(permits)
    }

    /// Whether the person behind the call can be asked. An operation that calls another cannot agree for that person,
    /// who did not call that.
    fn can_ask_consent(&self) -> bool {
        self.ctx.parent.is_none() && self.ctx.can_ask(QuestionKind::Form)
    }

    /// Asks the person behind the call, or says what that person can do. Nothing here grants a consent, and no next
    /// action does: an agent that follows what it is told must not end up agreeing for its user.
    async fn agree(&self, entry: &Arc<RegisteredOperation>, call_input: &CallInput<'_>) -> Result<(), Box<FailedCall>> {
        let Some(caller) = &self.ctx.caller else { return Err(self.refuse(EngineCode::AuthRequired)) };
        let declaration = &entry.declaration;
        let (answer, hint) = match self.ask_consent(entry, call_input).await {
            ConsentOutcome::Yes => return Ok(()),
            ConsentOutcome::No => (Some("declined"), consent::DECLINED.to_owned()),
            ConsentOutcome::Unanswered => (Some("none"), consent::UNANSWERED.to_owned()),
            ConsentOutcome::Unasked => (None, consent::hint(&self.ctx.registry, declaration, caller)),
        };
        let mut details = json!({"operation": declaration.name()});
        if let Some(answer) = answer {
            details["answer"] = answer.into();
        }
        let mut bad = self.refuse_with(EngineCode::ConsentRequired, &details);
        bad.problem.hint = hint.into();
        Err(bad)
    }

    /// Asks the person, where the face can, whether this call may be made, with this input, once. The answer is kept
    /// nowhere but in the conversation of this call.
    async fn ask_consent(&self, entry: &Arc<RegisteredOperation>, call_input: &CallInput<'_>) -> ConsentOutcome {
        if !self.can_ask_consent() {
            return ConsentOutcome::Unasked;
        }
        let Some(question) = self.consent_question(entry, call_input).await else {
            tracing::debug!(request_id = %self.ctx.request_id, "nobody is asked for consent: the input is too much to be looked through");
            return ConsentOutcome::Unasked;
        };
        match self.ctx.ask(consent::CONSENT_QUESTION, question).await {
            Ok(Answer::Accepted(form)) if form["agree"] == true => ConsentOutcome::Yes,
            Ok(Answer::Accepted(_) | Answer::Declined) => ConsentOutcome::No,
            Ok(Answer::Cancelled) => ConsentOutcome::Unanswered,
            Err(error) => {
                tracing::debug!(request_id = %self.ctx.request_id, %error, "nobody could be asked for consent");
                ConsentOutcome::Unasked
            }
        }
    }

    /// The question for the person. To write it reads the whole input, which is work for elsewhere where it is large.
    async fn consent_question(&self, entry: &Arc<RegisteredOperation>, call_input: &CallInput<'_>) -> Option<Question> {
        // Nobody is asked for what is refused all the same.
        if call_input.input.len() > entry.max_input {
            return None;
        }
        let input = document(&call_input.input);
        if !call_input.is_large() {
            return consent::question(&entry.declaration, input);
        }
        let (entry, input) = (Arc::clone(entry), input.to_vec());
        offload(move || consent::question(&entry.declaration, &input)).await
    }

    /// The call, as a limit is asked about it.
    pub(super) fn limited<'a>(&'a self, entry: &'a RegisteredOperation) -> LimitedCall<'a> {
        let ctx = &self.ctx;
        LimitedCall {
            operation: &entry.declaration,
            caller: ctx.caller.as_deref(),
            peer: ctx.peer,
            composed: ctx.parent.is_some(),
        }
    }

    /// Asks every limit; what they hand out is held until the call ends.
    pub(super) fn limits(&self, entry: &RegisteredOperation) -> Result<Permits, Box<FailedCall>> {
        let mut permits = Permits::default();
        for limit in &self.ctx.registry.0.limits {
            let call = self.limited(entry);
            match limit.admit(&call) {
                Ok(None) => {}
                Ok(Some(permit)) if permits.first.is_none() => permits.first = Some(permit),
                Ok(Some(permit)) => permits.others.push(permit),
                Err(Limited { capacity, retry_after_ms, name }) => {
                    let code = if capacity { EngineCode::Overloaded } else { EngineCode::RateLimited };
                    let details = name.and_then(|name| Json::of(&name).ok());
                    return Err(FailedCall::new(self.engine(code, details, retry_after_ms)));
                }
            }
        }
        Ok(permits)
    }

    /// Asks every limit, and sets the call aside in its allowances.
    pub(super) async fn all_limits(&self, entry: &RegisteredOperation) -> Result<Permits, CallStop> {
        let mut permits = self.limits(entry)?;
        if self.ctx.registry.0.has_quotas {
            permits.quota = Box::pin(self.set_aside(entry)).await?;
        }
        Ok(permits)
    }

    /// Refuses an input of too many bytes before anything is made of it.
    pub(super) fn size(&self, entry: &RegisteredOperation, call_input: &CallInput<'_>) -> Result<(), Box<FailedCall>> {
        if call_input.input.len() <= entry.max_input {
            return Ok(());
        }
        let details = json!({"limit_bytes": entry.max_input, "size_bytes": call_input.input.len()});
        Err(self.refuse_with(EngineCode::PayloadTooLarge, &details))
    }

    /// Refuses an input that nests too deep or holds too much.
    pub(super) fn measure(&self, call_input: &CallInput<'_>) -> Result<(), Box<FailedCall>> {
        match self.extent().passed_by(&call_input.input) {
            Some(beyond) => Err(self.beyond(beyond)),
            None => Ok(()),
        }
    }

    /// How deep an input may nest and how much it may hold.
    pub(super) fn extent(&self) -> Extent {
        let settings = &self.ctx.registry.0.settings;
        Extent { depth: settings.json_depth, members: settings.json_members }
    }

    /// Says which bound an input passes.
    #[cold]
    pub(super) fn beyond(&self, beyond: Beyond) -> Box<FailedCall> {
        let Extent { depth, members } = self.extent();
        let details = match beyond {
            Beyond::Depth => json!({"limit_depth": depth.min(Extent::PARSER_DEPTH)}),
            Beyond::Members => json!({"limit_members": members}),
        };
        self.refuse_with(EngineCode::PayloadTooLarge, &details)
    }
}
