//! `subscriptions/listen`: what a client of the modern era is told of changes, until it has heard enough.

use redress_core::ChangeReader;
use redress_wire::{
    jsonrpc::Id,
    mcp::{Era, ListenParams, SUBSCRIPTION_META, SubscriptionFilter, method},
};
use serde_json::{Value, json};

use crate::{
    RequestContext,
    mcp::McpInner,
    prompts::failed,
    reply::Reply,
    session::{notices, notification},
};

/// A client that listens.
#[derive(Debug)]
pub(crate) struct Listening {
    changes: ChangeReader,
    wanted: SubscriptionFilter,
    /// The id of its request, which everything that it is told carries.
    meta: Value,
}

impl McpInner {
    /// Listens for what a request wants and its caller may know, or answers why the limits do not let it ask for that: a
    /// client that listens for less than it believes to would wait for ever.
    pub(crate) async fn listening(
        &self,
        id: Id<'_>,
        params: &ListenParams<'_>,
        context: &RequestContext,
    ) -> Result<Listening, Reply> {
        let changes = self.registry.changes().subscribe();
        let (asked, can) = (&params.notifications, self.prompts_and_resources.capabilities());
        let readable = self.readable(&asked.resource_subscriptions, context).await;
        let resource_subscriptions = readable.map_err(|envelope| failed(id, &envelope, None, Era::Modern))?;
        let wanted = SubscriptionFilter {
            tools_list_changed: asked.tools_list_changed,
            prompts_list_changed: asked.prompts_list_changed && can.prompts,
            resources_list_changed: asked.resources_list_changed && can.resources,
            resource_subscriptions,
        };
        let own: Value = serde_json::from_str(id.as_json()).unwrap_or_default();
        Ok(Listening { changes, wanted, meta: json!({SUBSCRIPTION_META: own}) })
    }
}

impl Listening {
    /// What the client is told first: which changes it will be told of.
    pub(crate) fn acknowledged(&self) -> Vec<u8> {
        notification(method::ACKNOWLEDGED, &json!({"notifications": self.wanted, "_meta": self.meta}))
    }

    /// What it is told of the next change, which may be nothing; none once there are no more changes.
    pub(crate) async fn next(&mut self) -> Option<Vec<Vec<u8>>> {
        let change = self.changes.next().await?;
        let told = notices(&change, &self.wanted).into_iter().map(|notice| {
            let (method, mut params) = notice.message();
            params["_meta"] = self.meta.clone();
            notification(method, &params)
        });
        Some(told.collect())
    }

    /// The result of the request, where the server ends it.
    pub(crate) fn ended(&self, id: Id<'_>) -> Reply {
        Reply::result(id, json!({"resultType": "complete", "_meta": self.meta}).to_string().as_bytes())
    }
}
