//! What is written out for one variant: its declaration as a value of the contract.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{Ident, ext::IdentExt};

use super::validate::ValidFailure;

/// The expression that makes the declaration.
pub(super) fn declaration(failure: &ValidFailure) -> TokenStream {
    let code = &failure.code;
    let kind = Ident::new(failure.kind.variant, Span::call_site());
    let when = &failure.when;
    let message = message(failure).map(|text| quote!(.with_message(#text)));
    let effect =
        failure.effect.iter().map(|effect| quote!(.with_effect(::redress::__private::contract::Effect::#effect)));
    let retryable = failure.retryable.iter().map(|yes| quote!(.with_retryable(#yes)));
    let http = failure.http.iter().map(|status| quote!(.with_http(#status)));
    let retry_after = failure.retry_after.iter().map(|field| {
        let name = field.unraw().to_string();
        quote!(.with_retry_after(#name))
    });
    let extends = failure.extends.iter().map(|parent| quote!(.extending(#parent)));
    let since = failure.since.iter().map(|version| quote!(.with_since(#version)));
    let deprecated = failure.deprecated.iter().map(|deprecation| quote!(.with_deprecated(#deprecation)));
    let recovery = &failure.recovery;
    let details = details(failure);
    quote! {
        ::redress::__private::contract::FailureDeclaration::new(#code, ::redress::__private::contract::Kind::#kind)
            .with_when(#when)
            #message
            #(#effect)*
            #(#retryable)*
            #(#http)*
            #(#retry_after)*
            #(#extends)*
            #(#since)*
            #(#deprecated)*
            .with_recovery(#recovery)
            #details
    }
}

/// The message's template. Without one, the contract takes `when` for it; a brace in a doc
/// comment stands for itself, so such a comment becomes a template in which it does.
fn message(failure: &ValidFailure) -> Option<String> {
    match &failure.message {
        Some(message) => Some(message.text.clone()),
        None if failure.when.contains(['{', '}']) => Some(failure.when.replace('{', "{{").replace('}', "}}")),
        None => None,
    }
}

/// The schema of the public fields; the contract's default says that there are none.
fn details(failure: &ValidFailure) -> Option<TokenStream> {
    let fields: Vec<_> = failure.fields.iter().filter(|field| !field.private).collect();
    if fields.is_empty() {
        return None;
    }
    let names: Vec<String> = fields.iter().map(|field| field.name()).collect();
    let shown = fields.iter().map(|field| field.shown());
    Some(quote! {
        .with_details(::redress::__private::serde_json::json!({
            "type": "object",
            "properties": { #(#names: #shown::schema()),* },
            "required": [#(#names),*],
            "additionalProperties": false
        }))
    })
}
