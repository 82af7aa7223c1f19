//! One request that runs, and what it tells meanwhile.

use std::sync::Arc;

use redress_contract::EngineCode;
use redress_core::Refusal;
use redress_wire::{
    jsonrpc::{self, Id, Member, RpcCall, RpcMessage},
    mcp::{Era, ListenParams},
};
use tokio_util::sync::CancellationToken;

use super::{client::StdioClient, out::Out};
use crate::{
    RequestContext,
    client_channel::{ClientChannel, Notifier, NotifyingReply, RequestEvent},
    mcp::McpInner,
    prompts::failed,
    refusal::Unfit,
    reply::Reply,
    request::McpRequest,
    request_checks,
    requests::Requests,
    session,
};

pub(super) struct StdioRequest {
    pub(super) inner: Arc<McpInner>,
    pub(super) context: RequestContext,
    pub(super) client: Arc<StdioClient>,
    pub(super) out: Out,
    pub(super) running: Requests,
    pub(super) cancelled: CancellationToken,
    pub(super) ending: CancellationToken,
}

impl StdioRequest {
    pub(super) async fn run(self, line: Vec<u8>) {
        let Ok(RpcMessage::Single(Member::Call(RpcCall { id: Some(id), method, params }))) = jsonrpc::read(&line, 1)
        else {
            return;
        };
        let reply = tokio::select! {
            biased;
            // Who calls a request off does not want an answer; dropping the call cancels it.
            () = self.cancelled.cancelled() => None,
            reply = self.answer(id, &method, params) => Some(reply),
        };
        // The id is free before the answer is out, so that it can be used at once.
        self.running.ended(id.as_json());
        if let Some(reply) = reply {
            // Where the output is closed, everything ends by itself.
            let _ = self.out.send(reply.body).await;
        }
    }

    async fn answer(&self, id: Id<'_>, method: &str, params: &[u8]) -> Reply {
        let Some(asked) = McpRequest::read(method, params) else {
            return self.inner.refuse(&Unfit::params_of(method), id, &self.context);
        };
        let era = match request_checks::over_lines(&asked) {
            Ok(era) => era,
            Err(unfit) => return self.inner.refuse(&unfit, id, &self.context),
        };
        if (asked.runs() || matches!(asked, McpRequest::Listen(_))) && self.is_overloaded() {
            let envelope = self.inner.registry.refuse(Refusal::new(EngineCode::Overloaded), self.context.request(b""));
            return if matches!(asked, McpRequest::Call(_)) {
                self.inner.carry(id, &envelope, None, None, era, &self.context)
            } else {
                failed(id, &envelope, None, era)
            };
        }
        if let Some(reply) = self.inner.needless_key(id, &asked, era, &self.context) {
            return reply;
        }
        if let (McpRequest::Listen(params), Era::Modern) = (&asked, era) {
            return Box::pin(self.listen(id, params)).await;
        }
        let mut channel = ClientChannel { session: Some(self.client.session()), ..ClientChannel::default() };
        let meta = asked.meta();
        let token = meta.and_then(|meta| meta.progress_token);
        let mut notes = None;
        match era {
            Era::Modern => notes = meta.and_then(|meta| session::level(meta.log_level.as_deref()?)),
            Era::Legacy => {
                channel.asker = self.client.asker();
                channel.listener = self.client.listener();
                if token.is_some() {
                    notes = self.client.level();
                }
            }
        }
        match Notifier::wanted(token.is_some(), notes).filter(|_| asked.runs()) {
            Some((notifier, told)) => {
                let channel = ClientChannel { notifier: Some(&notifier), ..channel };
                let answer = self.inner.answer(id, &asked, era, &self.context, channel);
                let mut telling = NotifyingReply::new(answer, told);
                loop {
                    match telling.next().await {
                        RequestEvent::Told(told) => drop(self.out.send(told.message(token)).await),
                        RequestEvent::Ended(reply) => return reply,
                    }
                }
            }
            None => self.inner.answer(id, &asked, era, &self.context, channel).await,
        }
    }

    fn is_overloaded(&self) -> bool {
        self.running.len() > self.inner.options.in_flight
    }

    /// Tells what changes until the request is called off or the input ends.
    async fn listen(&self, id: Id<'_>, params: &ListenParams<'_>) -> Reply {
        let mut listening = match self.inner.listening(id, params, &self.context).await {
            Ok(listening) => listening,
            Err(refused) => return refused,
        };
        let mut open = self.out.send(listening.acknowledged()).await.is_ok();
        while open {
            let told = tokio::select! {
                () = self.ending.cancelled() => break,
                told = listening.next() => told,
            };
            let Some(told) = told else { break };
            for message in told {
                open = open && self.out.send(message).await.is_ok();
            }
        }
        listening.ended(id)
    }
}
