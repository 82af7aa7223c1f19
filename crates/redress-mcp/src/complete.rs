//! `completion/complete`: what an argument may be, for somebody who is still typing it.

use redress_core::Refusal;
use redress_wire::{
    jsonrpc::Id,
    mcp::{CompleteParams, Era, Reference},
};
use serde_json::{Value, json};

use crate::{RequestContext, builtin, call, mcp::McpInner, prompts::failed, reply::Reply};

impl McpInner {
    pub(crate) async fn complete(
        &self,
        id: Id<'_>,
        params: &CompleteParams<'_>,
        era: Era,
        context: &RequestContext,
    ) -> Reply {
        let found = match &params.reference {
            Reference::Prompt { name } => self.prompts_and_resources.prompt(name),
            Reference::Resource { uri } => self.prompts_and_resources.written(uri),
        };
        let Some(item) = found.filter(|item| item.is_open(&self.registry, context.caller())) else {
            return match &params.reference {
                Reference::Prompt { name } => self.unknown_prompt(id, name, context),
                Reference::Resource { .. } => self.refuse(&crate::refusal::Unfit::Template, id, context),
            };
        };
        // What completes an argument changes nothing, so no key has a use here.
        if let Some(refusal) = match call::keyed(context, params.meta.as_ref()) {
            Ok(keyed) => keyed.idempotency_key.is_some().then(Refusal::needless_key),
            Err(refusal) => Some(refusal),
        } {
            return failed(id, &self.registry.refuse(refusal, context.request(b"")), None, era);
        }
        let (name, argument) = (item.operation.name().as_str(), &params.argument);
        let (values, total) = if item.builtin {
            builtin::offered(&self.registry, name, &argument.value, context.caller())
        } else {
            let given = params.context.clone().unwrap_or_default().arguments;
            let request = context.request(b"");
            match self.registry.complete(name, &argument.name, &argument.value, &given, request).await {
                Ok(completion) => {
                    let total = completion.values.len() + completion.left_out;
                    (completion.values, total)
                }
                Err(envelope) => return failed(id, &envelope, None, era),
            }
        };
        let more = total > values.len();
        let mut result = json!({"completion": {"values": values, "total": total, "hasMore": more}});
        if let (Era::Modern, Value::Object(result)) = (era, &mut result) {
            result.insert("resultType".into(), "complete".into());
        }
        Reply::result(id, result.to_string().as_bytes())
    }
}
