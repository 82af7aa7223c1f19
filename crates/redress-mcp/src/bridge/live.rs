//! A client of a session, asked while a call waits.

use std::sync::Arc;

use redress_core::{Answer, AskError, Asker, Question, QuestionKind};
use redress_wire::mcp::ClientCan;
use rmcp::{
    RoleServer, ServiceError,
    model::{CustomRequest, ServerRequest},
    service::{Peer, RequestContext},
};

use crate::rounds;

/// The client of a session.
pub(super) struct Live {
    peer: Peer<RoleServer>,
    can: ClientCan,
}

impl Live {
    pub(super) fn asker(context: &RequestContext<RoleServer>) -> Arc<dyn Asker> {
        let said = context.client_capabilities().and_then(|can| serde_json::to_string(&can).ok());
        let can = said.map(|said| ClientCan::of(&said)).unwrap_or_default();
        Arc::new(Live { peer: context.peer.clone(), can })
    }
}

impl Asker for Live {
    fn can(&self, kind: QuestionKind) -> bool {
        rounds::kinds(self.can).any(|able| able == kind)
    }

    fn ask<'a>(
        &'a self,
        key: &'a str,
        question: &'a Question,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<Answer, AskError>> + Send + 'a>> {
        Box::pin(async move {
            let (method, params) = rounds::asked(key, question);
            // The library's own types for questions know fewer forms than clients do.
            let request = ServerRequest::CustomRequest(CustomRequest::new(method, Some(params)));
            match self.peer.send_request(request).await {
                Ok(result) => {
                    let response = serde_json::to_value(result).unwrap_or_default();
                    rounds::answer(response).ok_or(AskError::Unfit { id: key.to_owned() })
                }
                // A client that refuses says so with an error.
                Err(ServiceError::McpError(_)) => Ok(Answer::Declined),
                Err(_) => Err(AskError::Gone),
            }
        })
    }
}
