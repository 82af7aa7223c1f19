//! The operations that the tests call.

use std::time::Duration;

use futures_util::StreamExt as _;
use redress_core::{
    DynamicFailure, Events, Operation, Registry,
    contract::{Access, Deprecation, FailureDeclaration, Kind, OperationDeclaration as Declared, Recovery},
};
use serde_json::{Value, json};

fn open(operation: Declared) -> Declared {
    operation.with_summary("One of the operations that the tests call.").with_access(Access::anyone())
}

fn failure(code: &str, kind: Kind) -> FailureDeclaration {
    FailureDeclaration::new(code, kind)
        .with_when("The shop says so.")
        .with_recovery(Recovery::stop("Do not ask for it again, it will not change."))
}

/// A shop: an order asks for a price, and both may end in every way there is.
pub(crate) fn shop() -> Vec<Operation> {
    let order = open(Declared::mutation("shop.order").with_call("shop.price").with_deadline(Duration::from_secs(5)))
        .fails(failure("SOLD_OUT", Kind::Conflict))
        .with_input(json!({
            "type": "object", "properties": {"item": {"type": "string"}, "text": {"type": "string"}},
            "additionalProperties": false,
        }));
    let order = Operation::dynamic(order).with_handler(|ctx, input| async move {
        match input["item"].as_str() {
            Some("gone") => Err(DynamicFailure::new("SOLD_OUT", json!({})))?,
            Some("odd") => Err(DynamicFailure::new("NEVER_DECLARED", json!({})))?,
            Some("away") => Err(std::io::Error::from(std::io::ErrorKind::ConnectionRefused))?,
            Some("busy") => Err(std::io::Error::other("too many requests"))?,
            Some("aborted") => Err(std::io::Error::other("current transaction is aborted"))?,
            Some("limit") => Ok(ctx.call_dynamic("shop.price", json!({})).await?),
            Some("panic") => panic!("{}", input["text"].as_str().unwrap_or_default()),
            Some("disk") => Err(std::io::Error::other(input["text"].as_str().unwrap_or_default().to_owned()))?,
            _ => Ok(ctx.call_dynamic("shop.price", json!({})).await.map_err(|_| std::io::Error::other("no price"))?),
        }
    });
    let price = Operation::dynamic(open(Declared::query("shop.price"))).with_handler(|_, _| async { Ok(json!(7)) });
    let wait = open(Declared::query("shop.wait").with_deadline(Duration::from_millis(50)));
    let wait = Operation::dynamic(wait).with_handler(|_, _| std::future::pending());
    let old = open(Declared::query("shop.old")).with_deprecated(Deprecation {
        since: "0.1.0".to_owned(),
        replaced_by: Some("shop.price".to_owned()),
        ..Deprecation::default()
    });
    let old = Operation::dynamic(old).with_handler(|_, _| async { Ok(Value::Null) });
    let news = Operation::dynamic(open(Declared::subscription("shop.news"))).with_stream_handler(|_, _| async {
        Ok(Events::new(futures_util::stream::iter([1, 2]).map(|item| {
            tracing::info_span!("shop.look", item).in_scope(|| tracing::info!(item, "an item is made"));
            Ok(json!(item))
        })))
    });
    vec![order, price, wait, old, news]
}

/// A registry of the shop.
pub(crate) fn registry() -> Registry {
    shop()
        .into_iter()
        .fold(Registry::builder(), |builder, operation| builder.add(operation))
        .build()
        .expect("the shop is well declared")
}
