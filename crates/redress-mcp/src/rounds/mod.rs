//! Calls that ask their caller: live, where the connection has a way back, and else in rounds.
//! A round ends with questions and a sealed state; the client makes the same request again with
//! the answers.

mod questions;
mod spent_states;
mod state;

use redress_contract::{EngineCode, Envelope};
use redress_core::{Conversation, QuestionKind, Request, Turn};
use redress_wire::{
    jsonrpc::Id,
    mcp::{ClientCapabilities, Era, ProtocolError, open_result},
};
use serde_json::{Map, Value, json};

pub(crate) use questions::{answer, asked};
use state::OpenedState;
pub(crate) use state::{Seal, random};

use crate::{
    client_channel::ClientChannel,
    mcp::McpInner,
    owner::Owner,
    refusal::Unfit,
    reply::{Reply, ReplyKind, with_member},
    request::Rounds,
};

/// The questions that a client of these abilities can be asked.
pub(crate) fn kinds(can: ClientCapabilities) -> impl Iterator<Item = QuestionKind> {
    let all = [
        (can.form, QuestionKind::Form),
        (can.url, QuestionKind::Url),
        (can.sample, QuestionKind::Sample),
        (can.roots, QuestionKind::Roots),
    ];
    all.into_iter().filter(|(can, _)| *can).map(|(_, kind)| kind)
}

impl McpInner {
    /// Calls an operation, and lets it ask as its client can be asked. There is an answer in the
    /// place of an outcome where the call goes on in another round, or cannot be made.
    pub(crate) async fn turn(
        &self,
        id: Id<'_>,
        operation: &str,
        request: Request<'_>,
        era: Era,
        rounds: Rounds<'_>,
        channel: ClientChannel<'_>,
    ) -> Result<Envelope, Reply> {
        let request = channel.attend(request);
        if era == Era::Legacy {
            return Ok(self.registry.call(operation, request).await);
        }
        let params = rounds.params;
        let envelope = if params.can.any() || params.responses.is_some() || params.state.is_some() {
            // Few calls get here, so what they need takes no room in the others.
            Box::pin(self.round(id, operation, request, rounds)).await?
        } else {
            self.registry.call(operation, request).await
        };
        // The code is looked at first: the details of most failures need not be read.
        let asks = envelope.code() == Some(EngineCode::InvalidOperationType.as_str());
        match envelope.problem().filter(|_| asks).and_then(QuestionKind::missing_in) {
            Some(kind) => Err(missing(id, kind, &envelope)),
            None => Ok(envelope),
        }
    }

    async fn round(
        &self,
        id: Id<'_>,
        operation: &str,
        request: Request<'_>,
        Rounds { params, context }: Rounds<'_>,
    ) -> Result<Envelope, Reply> {
        let owner = Owner::of(context);
        let wrong = |unfit: Unfit| self.refuse(&unfit, id, context);
        let (mut conversation, number) = match params.state {
            None => (Conversation::new(kinds(params.can)), None),
            Some(sealed) => {
                let sealed = serde_json::from_str::<String>(sealed.get()).ok();
                let state = sealed.and_then(|sealed| self.seal().open(&sealed, &owner));
                let resumed = state.and_then(|OpenedState { number, state }| {
                    Some((Conversation::resumed(kinds(params.can), &state).ok()?, Some(number)))
                });
                resumed.ok_or_else(|| wrong(Unfit::State))?
            }
        };
        if let Some(responses) = params.responses {
            let given: Map<String, Value> =
                serde_json::from_str(responses.get()).map_err(|_| wrong(Unfit::Responses))?;
            for (key, response) in given {
                let answer = answer(response).ok_or_else(|| wrong(Unfit::Response))?;
                conversation = conversation.answer(key, answer);
            }
        }
        // A state gives a consent once, whether the answer comes with it or an earlier round had it: the person agreed to
        // one call and not to as many as are made with it.
        if conversation.holds_consent() && !number.is_some_and(|number| self.seal().spend(number, &owner)) {
            conversation = conversation.without_consent();
        }
        match self.registry.converse(operation, request, conversation).await {
            Turn::Ended(envelope) => Ok(envelope),
            Turn::Asks(asks) => {
                let asked: Map<String, Value> = asks
                    .questions
                    .iter()
                    .map(|(key, question)| {
                        let (method, params) = asked(key, question);
                        (key.clone(), json!({"method": method, "params": params}))
                    })
                    .collect();
                let result = json!({
                    "resultType": "input_required",
                    "inputRequests": asked,
                    "requestState": self.seal().close(&asks.state, &owner),
                });
                let mut body = Vec::with_capacity(asks.state.len() * 2 + 512);
                open_result(id, &mut body);
                body.extend_from_slice(result.to_string().as_bytes());
                body.push(b'}');
                Err(Reply { body: body.into(), ending: ReplyKind::Result, request_id: Some(asks.meta.request_id) })
            }
        }
    }
}

/// Says that the client cannot be asked what the call has to ask.
fn missing(id: Id<'_>, kind: QuestionKind, envelope: &Envelope) -> Reply {
    let needed = match kind {
        QuestionKind::Form => json!({"elicitation": {"form": {}}}),
        QuestionKind::Url => json!({"elicitation": {"url": {}}}),
        QuestionKind::Sample => json!({"sampling": {}}),
        QuestionKind::Roots => json!({"roots": {}}),
    };
    let data = with_member(envelope, "requiredCapabilities", &needed);
    let says = "the call has to ask what the client does not say it can be asked";
    let mut reply = Reply::error(id, ProtocolError::MissingCapability, says, Some(&data));
    reply.request_id = Some(envelope.meta().request_id.clone());
    reply
}
