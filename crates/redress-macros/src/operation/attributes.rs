//! What is written out for the words: the declaration as a value of the contract.

use proc_macro2::TokenStream;
use quote::quote;

use super::{
    parse::{ExampleEnding, ExampleWords},
    validate::{Overflow, Streaming, ValidOperation},
};

/// The expression that makes the declaration, schemas and failures left to the types.
pub(super) fn attributes(operation: &ValidOperation) -> TokenStream {
    let ValidOperation { shape, name, summary, description, calls, authority, tags, aliases, .. } = operation;
    let access = access(operation);
    let deadline =
        operation.deadline.iter().map(|millis| quote!(.with_deadline(::core::time::Duration::from_millis(#millis))));
    let internal = operation.internal.then(|| quote!(.internal()));
    let key = operation.idempotency_key.then(|| quote!(.with_idempotency_key()));
    let verify = operation.verify.iter().map(|verification| quote!(.with_verification(#verification)));
    let eval = operation.eval.iter().map(|(source, language)| quote!(.with_eval(#source, #language)));
    let max_input = operation.max_input.iter().map(|bytes| {
        let bytes = proc_macro2::Literal::u64_unsuffixed(*bytes);
        quote!(.with_max_input(#bytes))
    });
    let max_output = operation.max_output.iter().map(|bytes| {
        let bytes = proc_macro2::Literal::u64_unsuffixed(*bytes);
        quote!(.with_max_output(#bytes))
    });
    let since = operation.since.iter().map(|version| quote!(.with_since(#version)));
    let deprecated = operation.deprecated.iter().map(|deprecation| quote!(.with_deprecated(#deprecation)));
    let examples = operation.examples.iter().map(example);
    let streaming = streaming(&operation.streaming);
    let as_caller = operation.calls_as_caller.then(|| quote!(.with_callers_authority()));
    let prompt = operation.prompt.then(|| quote!(.prompt()));
    let resource = operation.resource.iter().map(|uri| quote!(.resource(#uri)));
    let mime_type = operation.mime_type.iter().map(|text| quote!(.with_mime_type(#text)));
    let completions = operation.completions.iter().map(|(name, by)| quote!(.with_completion(#name, #by)));
    quote! {
        ::redress::__private::contract::OperationDeclaration::#shape(#name)
            .with_summary(#summary)
            .with_description(#description)
            .with_access(#access)
            #(#deadline)*
            #internal
            #key
            #(#verify)*
            #(#eval)*
            #(.with_call(#calls))*
            #(.with_authority(#authority))*
            #as_caller
            #(.with_tag(#tags))*
            #(.with_alias(#aliases))*
            #(#examples)*
            #(#max_input)*
            #(#max_output)*
            #(#since)*
            #(#deprecated)*
            #streaming
            #prompt
            #(#resource)*
            #(#mime_type)*
            #(#completions)*
    }
}

fn access(operation: &ValidOperation) -> TokenStream {
    let ValidOperation { scopes, any_scopes, .. } = operation;
    let whom = if operation.anyone { quote!(anyone) } else { quote!(caller) };
    let consent = operation.consent.then(|| quote!(.consent()));
    quote!(::redress::__private::contract::Access::#whom() #(.scope(#scopes))* #(.any_scope(#any_scopes))* #consent)
}

/// The texts were read as JSON while compiling, so reading them again gives what they say.
fn example(example: &ExampleWords) -> TokenStream {
    let json = |text: &syn::LitStr| quote!(::redress::__private::serde_json::from_str(#text).unwrap_or_default());
    let input = json(&example.input);
    let ending = match &example.ending {
        ExampleEnding::Output(output) => {
            let output = json(output);
            quote!(Output(#output))
        }
        ExampleEnding::Failure(code) => quote!(Failure(::std::string::String::from(#code))),
    };
    quote! {
        .with_example(::redress::__private::contract::Example {
            input: #input,
            ending: ::redress::__private::contract::ExampleEnding::#ending,
        })
    }
}

fn streaming(streaming: &Streaming) -> Option<TokenStream> {
    let mut given = Vec::new();
    if let Some(buffer) = streaming.buffer {
        given.push(quote!(buffer = #buffer));
    }
    match streaming.overflow {
        Some(Overflow::Cut) => given.push(quote!(overflow = ::redress::__private::contract::Overflow::Cut)),
        Some(Overflow::Wait(millis)) => {
            given.push(quote!(overflow = ::redress::__private::contract::Overflow::Wait(#millis)));
        }
        None => {}
    }
    if let Some(idle) = streaming.idle {
        given.push(quote!(idle_ms = ::core::option::Option::Some(#idle)));
    }
    if streaming.resumable {
        given.push(quote!(resumable = true));
    }
    (!given.is_empty()).then(|| {
        quote! {
            .with_streaming({
                let mut __streaming = ::redress::__private::contract::Streaming::default();
                #(__streaming.#given;)*
                __streaming
            })
        }
    })
}
