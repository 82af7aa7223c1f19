//! A call in rounds: it ends with its outcome, or with what it asks its caller.

use std::{future::poll_fn, pin::pin, sync::Arc};

use redress_contract::{Caller, EngineCode, Envelope, Meta, OutputJson};
use redress_input::document;
use sha2::{Digest as _, Sha256};

use super::{Call, CallInput, CallStop, FailedCall, detached::OwnedCallInput};
use crate::{
    Conversation, Question, Registry, Request,
    call::ask::{AskContext, Round},
    contained::poll_contained,
    hooks::consent::WrittenJson,
    registry::RegisteredOperation,
};

/// How one round of a call ends.
#[derive(Debug)]
pub enum Turn {
    /// The call has ended.
    Ended(Envelope),
    /// The call goes on when its caller has answered.
    Asks(Asks),
}

/// What a call asks before it can go on.
#[derive(Debug)]
#[non_exhaustive]
pub struct Asks {
    /// The questions, each with the key that its answer comes under.
    pub questions: Vec<(String, Question)>,
    /// What the next round goes on from. The face seals it before it lets it out of its hands.
    pub state: Vec<u8>,
    /// What is known about this round.
    pub meta: Meta,
}

impl Registry {
    /// Calls an operation once, and lets it ask. A call that asks has no outcome yet: its handler
    /// is dropped, and runs again from its start when the caller makes the same call with
    /// [`Conversation::resumed`] and the answers. Observers are told of each round, once.
    ///
    /// ```
    /// use redress_core::{Answer, Conversation, Field, Form, Operation, Question, QuestionKind};
    /// use redress_core::{Registry, Request, Turn, contract};
    /// use serde_json::json;
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let greet = contract::OperationDeclaration::query("door.greet")
    ///     .with_summary("Greet whoever is there.")
    ///     .with_access(contract::Access::anyone());
    /// let greet = Operation::dynamic(greet).with_handler(|ctx, _| async move {
    ///     let form = Form::new().field("name", Field::text());
    ///     let answer = ctx.ask("name", Question::form("Who is there?", form)).await?;
    ///     Ok(json!(answer.accepted().map(|form| format!("Hello, {}!", form["name"].as_str().unwrap_or("you")))))
    /// });
    /// let registry = Registry::builder().add(greet).build().unwrap();
    ///
    /// let first = Conversation::new([QuestionKind::Form]);
    /// let Turn::Asks(asks) = registry.converse("door.greet", Request::default(), first).await else { panic!() };
    /// assert_eq!(asks.questions[0].0, "name");
    ///
    /// let second = Conversation::resumed([QuestionKind::Form], &asks.state).unwrap()
    ///     .answer("name", Answer::Accepted(json!({"name": "Ada"})));
    /// let Turn::Ended(envelope) = registry.converse("door.greet", Request::default(), second).await else { panic!() };
    /// assert_eq!(envelope.output(), Some(br#""Hello, Ada!""#.as_slice()));
    /// # });
    /// ```
    pub async fn converse(&self, name: &str, request: Request<'_>, conversation: Conversation) -> Turn {
        let (mut call, call_input) = self.begin(name, request);
        let asking = Arc::new(AskContext::rounds(conversation));
        call.ctx.asking = Some(Arc::clone(&asking));
        let Some(detached) = call.detached(&call_input) else {
            let _over = asking.over().clone().drop_guard();
            let ended = call.answer(&call_input).await;
            let turn = {
                let mut turn = pin!(call.turn(&call_input, &asking, ended));
                poll_fn(|cx| poll_contained(turn.as_mut(), cx)).await
            };
            return turn.unwrap_or_else(|payload| Turn::Ended(call.lost(&*payload)));
        };
        match Box::pin(call.admitted(&call_input)).await {
            Err(stop) => call.turn(&call_input, &asking, Err(stop)).await,
            Ok(admitted) => {
                let owned = OwnedCallInput::from(call_input);
                let round = async move {
                    let _over = asking.over().clone().drop_guard();
                    let call_input = owned.call_input();
                    let ended = call.answer_admitted(admitted, &call_input).await;
                    call.turn(&call_input, &asking, ended).await
                };
                Box::pin(detached.run(round)).await.unwrap_or_else(Turn::Ended)
            }
        }
    }
}

impl Call {
    /// What a round that ended like this comes to.
    async fn turn(
        &mut self,
        call_input: &CallInput<'_>,
        asking: &AskContext,
        ended: Result<OutputJson, CallStop>,
    ) -> Turn {
        let turn = match ended {
            Err(CallStop::Suspended) => {
                match self.fingerprint(call_input).await.and_then(|call| asking.questions(call)) {
                    Some(Round { questions, state }) => Turn::Asks(Asks { questions, state, meta: self.end_round() }),
                    None => {
                        tracing::error!(request_id = %self.ctx.request_id, "a call remembers more than a state can hold");
                        let refused = self.refuse(EngineCode::Internal);
                        Turn::Ended(self.end_outside(Err(refused.into())))
                    }
                }
            }
            ended @ (Ok(_) | Err(CallStop::Failed(_))) => Turn::Ended(self.end_outside(ended)),
        };
        if let Some(receipt) = self.receipt() {
            receipt.await;
        }
        turn
    }

    /// A state says which call it belongs to: this operation, of this caller, with this input.
    /// With any other the answers would be given to a question that nobody was asked.
    pub(super) fn belongs(
        &self,
        entry: &RegisteredOperation,
        call_input: &CallInput<'_>,
    ) -> Result<(), Box<FailedCall>> {
        let Some(asking) = self.resumable() else { return Ok(()) };
        if asking.belongs(|| fingerprint_of(entry, self.ctx.caller.as_deref(), &call_input.input)) {
            Ok(())
        } else {
            Err(self.of_another_call())
        }
    }

    /// What a call at the root of its tree may ask by.
    pub(super) fn resumable(&self) -> Option<&AskContext> {
        self.ctx.asking.as_deref().filter(|_| self.ctx.parent.is_none())
    }

    /// Refuses a state that belongs to another call.
    pub(super) fn of_another_call(&self) -> Box<FailedCall> {
        let mut bad = self.refuse_with(EngineCode::InvalidRequest, &serde_json::json!({"state": "of another call"}));
        bad.problem.hint = "Send the state only with the call that it came from, its input unchanged.".into();
        bad
    }

    /// What a state belongs to. Most calls ask nothing, so it is made for those alone that do.
    async fn fingerprint(&self, call_input: &CallInput<'_>) -> Option<String> {
        let entry = self.ctx.entry.as_ref()?;
        if call_input.is_large() {
            // Not within the time of the call: that it asks something would end this too.
            return Some(Box::pin(self.large_fingerprint(entry, call_input)).await);
        }
        Some(fingerprint_of(entry, self.ctx.caller.as_deref(), &call_input.input))
    }
}

/// What a state belongs to.
pub(super) fn fingerprint_of(entry: &RegisteredOperation, caller: Option<&Caller>, input: &[u8]) -> String {
    let mut digest = Sha256::new();
    for part in [entry.declaration.name().as_str(), caller.map(Caller::id).unwrap_or_default()] {
        digest.update(part.len().to_le_bytes());
        digest.update(part);
    }
    // A caller may write its input anew, with the members in another order. One that is too
    // large is refused in a moment, and not read here.
    let input = document(input);
    match (input.len() <= entry.max_input).then(|| WrittenJson::read(input)).flatten() {
        Some(written) => digest.update(written.sorted().to_string()),
        None => digest.update(input),
    }
    crate::hex(&digest.finalize()[..16])
}
