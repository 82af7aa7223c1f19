//! One request that runs, and what it tells meanwhile.

use std::sync::{Arc, PoisonError};

use redress_contract::EngineCode;
use redress_core::Refusal;
use redress_wire::{
    jsonrpc::{self, Call, Id, Member, Message},
    mcp::{Era, ListenParams, SUBSCRIPTION_META, Wanted, method},
};
use serde_json::{Value, json, value::RawValue};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{Running, client::Client, notification, out::Out};
use crate::{
    Asking,
    asked::Asked,
    checks,
    mcp::Inner,
    prompts::failed,
    reply::Reply,
    session,
    way::{Step, Tells, Told, Way},
};

pub(super) struct Request {
    pub(super) inner: Arc<Inner>,
    pub(super) asking: Asking,
    pub(super) client: Arc<Client>,
    pub(super) out: Out,
    pub(super) running: Running,
    pub(super) cancelled: CancellationToken,
    pub(super) ending: CancellationToken,
}

impl Request {
    pub(super) async fn run(self, line: Vec<u8>) {
        let Ok(Message::Single(Member::Call(Call { id: Some(id), method, params }))) = jsonrpc::read(&line, 1) else {
            return;
        };
        let reply = tokio::select! {
            biased;
            // Who calls a request off does not want an answer; dropping the call cancels it.
            () = self.cancelled.cancelled() => None,
            reply = self.answer(id, &method, params) => Some(reply),
        };
        // The id is free before the answer is out, so that it can be used at once.
        self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(id.as_json());
        if let Some(reply) = reply {
            // Where the output is closed, everything ends by itself.
            let _ = self.out.send(reply.body).await;
        }
    }

    async fn answer(&self, id: Id<'_>, method: &str, params: &[u8]) -> Reply {
        let Some(asked) = Asked::read(method, params) else { return checks::unreadable(id, method) };
        let era = match checks::over_lines(id, &asked) {
            Ok(era) => era,
            Err(reply) => return reply,
        };
        if (asked.runs() || matches!(asked, Asked::Listen(_))) && self.is_overloaded() {
            let envelope = self.inner.registry.refuse(Refusal::new(EngineCode::Overloaded), self.asking.request(b""));
            return if matches!(asked, Asked::Call(_)) {
                self.inner.carry(id, &envelope, None, None, era)
            } else {
                failed(id, &envelope, None, era)
            };
        }
        if let Some(reply) = self.inner.needless_key(id, &asked, era, &self.asking) {
            return reply;
        }
        if let (Asked::Listen(params), Era::Modern) = (&asked, era) {
            return Box::pin(self.listen(id, params)).await;
        }
        let mut way = Way { session: Some(self.client.session()), ..Way::default() };
        let meta = asked.meta();
        let token = meta.and_then(|meta| meta.progress_token);
        let mut notes = None;
        match era {
            Era::Modern => notes = meta.and_then(|meta| session::level(meta.log_level.as_deref()?)),
            Era::Legacy => {
                way.asker = self.client.asker();
                way.listener = self.client.listener();
                if token.is_some() {
                    notes = self.client.level();
                }
            }
        }
        match Tells::wanted(token.is_some(), notes).filter(|_| asked.runs()) {
            Some((tells, told)) => {
                let way = Way { tells: Some(&tells), ..way };
                self.telling(id, &asked, era, way, token, told).await
            }
            None => self.inner.answer(id, &asked, era, &self.asking, way).await,
        }
    }

    fn is_overloaded(&self) -> bool {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).len() > self.inner.options.in_flight
    }

    /// Answers, and tells meanwhile what the handler tells.
    async fn telling(
        &self,
        id: Id<'_>,
        asked: &Asked<'_>,
        era: Era,
        way: Way<'_>,
        token: Option<&RawValue>,
        mut told: mpsc::Receiver<Told>,
    ) -> Reply {
        let mut answer = std::pin::pin!(self.inner.answer(id, asked, era, &self.asking, way));
        let reply = loop {
            tokio::select! {
                biased;
                Some(told) = told.recv() => {
                    let _ = self.out.send(line(token, &told)).await;
                }
                reply = &mut answer => break reply,
            }
        };
        // A call that never paused has left what it told behind.
        while let Ok(told) = told.try_recv() {
            let _ = self.out.send(line(token, &told)).await;
        }
        reply
    }

    /// Tells what changes until the request is called off or the input ends.
    async fn listen(&self, id: Id<'_>, params: &ListenParams<'_>) -> Reply {
        let mut changes = self.inner.registry.changes().subscribe();
        let asked = &params.notifications;
        let wanted = Wanted {
            resource_subscriptions: self.inner.readable(asked.resource_subscriptions.iter(), &self.asking),
            ..asked.clone()
        };
        let own: Value = serde_json::from_str(id.as_json()).unwrap_or_default();
        let meta = json!({SUBSCRIPTION_META: own});
        let acknowledged = notification(method::ACKNOWLEDGED, &json!({"notifications": wanted, "_meta": meta}));
        let mut open = self.out.send(acknowledged).await.is_ok();
        while open {
            let change = tokio::select! {
                () = self.ending.cancelled() => break,
                change = changes.next() => change,
            };
            let Some(change) = change else { break };
            for notice in session::notices(&change, &wanted) {
                let (method, mut params) = notice.message();
                params["_meta"] = meta.clone();
                open = open && self.out.send(notification(method, &params)).await.is_ok();
            }
        }
        Reply::result(id, json!({"resultType": "complete", "_meta": meta}).to_string().as_bytes())
    }
}

/// What was told, as a message.
fn line(token: Option<&RawValue>, told: &Told) -> Vec<u8> {
    match told {
        Told::Step(Step { progress, total, message }) => {
            let mut params = json!({"progressToken": token, "progress": progress});
            if let Some(members) = params.as_object_mut() {
                members.extend(total.map(|total| ("total".to_owned(), total.into())));
                members.extend(message.clone().map(|message| ("message".to_owned(), message.into())));
            }
            notification(method::PROGRESS, &params)
        }
        Told::Note(note) => notification(method::NOTE, &session::note(note)),
    }
}
