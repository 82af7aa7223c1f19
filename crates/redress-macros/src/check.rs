//! `#[check]`: a function that says whether a caller may have what an input asks for.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Attribute, FnArg, Ident, ItemFn, ReturnType, Token, Type, ext::IdentExt as _, spanned::Spanned as _};

use crate::{
    mistakes::Mistakes,
    operation::signature::{ArgumentRole, FunctionArgument, argument_name, is_of_std, last_segment, role},
};

/// The most arguments for which there are checks.
const MAX_ARGUMENTS: usize = 6;

const RETURNS: &str = "a check returns `Outcome<bool, E>`, where `E` derives `Failure`; write that here";

/// Writes the check beside the function, or says everything that is wrong with it.
pub(crate) fn attribute(words: TokenStream, item: TokenStream) -> TokenStream {
    let mut mistakes = Mistakes::default();
    let function: ItemFn = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(error) => {
            let error = if syn::parse2::<syn::Item>(item.clone()).is_ok() {
                syn::Error::new_spanned(crate::data::keyword(&item), "`#[check]` goes on an `async fn` with a body")
            } else {
                error
            };
            let error = error.to_compile_error();
            return quote!(#error #item);
        }
    };
    if !words.is_empty() {
        mistakes.add(&words, "`#[check]` takes no words; remove this");
    }
    match read(&function, &mut mistakes) {
        Some(signature) => expand(&function, &signature, &mistakes),
        None => quote!(#mistakes #item),
    }
}

/// What the function says.
struct CheckSignature {
    /// Those that come from the call.
    arguments: Vec<FunctionArgument>,
    /// The name of the input, and its type without the `&`.
    input: (Ident, Type),
    returns: Type,
}

/// Reads the function. Nothing comes back where it cannot even stand in for a check.
fn read(function: &ItemFn, mistakes: &mut Mistakes) -> Option<CheckSignature> {
    let sig = &function.sig;
    let mut usable = true;
    let mut refuse = |token: TokenStream, message: &str| {
        mistakes.add(token, message);
        usable = false;
    };
    if let Some(word) = &sig.constness {
        refuse(word.to_token_stream(), "a check is not `const`; remove this");
    }
    if let syn::Safety::Unsafe(word) = &sig.safety {
        refuse(word.to_token_stream(), "a check is called for everyone, so it is not `unsafe`; remove this");
    }
    if let Some(abi) = &sig.abi {
        refuse(abi.extern_token.to_token_stream(), "a check is an ordinary Rust function; remove `extern`");
    }
    let mut arguments: Vec<FunctionArgument> = Vec::new();
    let count = sig.inputs.len();
    for (place, argument) in sig.inputs.iter().enumerate() {
        match argument {
            FnArg::Typed(argument) if place < MAX_ARGUMENTS => {
                if let Type::ImplTrait(ty) = unreferenced(&argument.ty) {
                    let message = "name the type, as in `fn owns<T: OfTicket>(…, input: &T)`";
                    refuse(ty.impl_token.to_token_stream(), message);
                }
                let role = role(&argument.ty, place + 1 == count);
                let name = argument_name(&argument.pat, place, function, &arguments);
                arguments.push(FunctionArgument { name, ty: (*argument.ty).clone(), role });
            }
            FnArg::Typed(argument) => {
                refuse(argument.pat.to_token_stream(), "a check has at most six arguments; leave one out");
            }
            FnArg::Receiver(receiver) => {
                let message = "a check is a free function; take what you need as `State<T>`";
                refuse(receiver.self_token.to_token_stream(), message);
            }
        }
    }
    let input = match arguments.pop() {
        Some(FunctionArgument { name, ty, role: ArgumentRole::Input }) => {
            if let Type::Reference(reference) = &ty
                && reference.mutability.is_none()
            {
                Some((name, (*reference.elem).clone()))
            } else {
                let written = ty.to_token_stream();
                refuse(written, "a check looks at the input, and the operation owns it; write a `&` before the type");
                None
            }
        }
        Some(_) | None => {
            refuse(
                sig.ident.to_token_stream(),
                "a check looks at the input; take it as the last argument, as in `input: &Read`",
            );
            None
        }
    };
    let returns = match &sig.output {
        ReturnType::Default => {
            refuse(sig.ident.to_token_stream(), "a check returns `Outcome<bool, E>`; write `-> Outcome<…>`");
            None
        }
        ReturnType::Type(_, ty) => match last_segment(ty) {
            Some(name) if is_of_std(name) => {
                refuse(name.to_token_stream(), RETURNS);
                None
            }
            Some(_) => Some((**ty).clone()),
            None => {
                refuse(ty.to_token_stream(), RETURNS);
                None
            }
        },
    };
    if sig.asyncness.is_none() {
        mistakes.add(sig.fn_token, "a check is asynchronous; write `async fn`");
    }
    if usable { Some(CheckSignature { arguments, input: input?, returns: returns? }) } else { None }
}

fn unreferenced(ty: &Type) -> &Type {
    if let Type::Reference(reference) = ty { &reference.elem } else { ty }
}

/// The function, tagged, and beside it a marker that knows how it is called.
fn expand(function: &ItemFn, signature: &CheckSignature, mistakes: &Mistakes) -> TokenStream {
    let CheckSignature { arguments, input: (input, input_ty), returns } = signature;
    let mut function = function.clone();
    function.sig.asyncness.get_or_insert_with(<Token![async]>::default);
    let (vis, ident, sig, block) = (&function.vis, &function.sig.ident, &function.sig, &function.block);
    let (generics, _, conditions_of_types) = sig.generics.split_for_impl();
    let marker = format_ident!("__check_{}", ident.unraw());
    let conditions: Vec<&Attribute> =
        function.attrs.iter().filter(|attribute| attribute.path().is_ident("cfg")).collect();
    let (outside, inside): (Vec<_>, Vec<_>) =
        function.attrs.iter().partition(|attribute| crate::operation::is_outside(attribute));
    let (names, types): (Vec<_>, Vec<_>) = arguments.iter().map(|argument| (&argument.name, &argument.ty)).unzip();
    let at_name = ident.span().resolved_at(Span::call_site());
    let send = quote_spanned!(at_name=> ::core::marker::Send);
    let tag = quote_spanned!(at_name=> ::redress::__private::Tagged<#marker, impl ::core::future::Future<Output = #returns> + #send>);
    let span = returns.span().resolved_at(Span::call_site());
    let failure = quote_spanned!(span=> <#returns as ::redress::__private::IsOutcome>::Failure);
    // With `&Caller` there has to be one; without it, the check does for every operation.
    let takes_caller = arguments.iter().any(|argument| argument.role == ArgumentRole::Caller);
    let known = quote!(::redress::__private::CallerKnown);
    let everywhere = (!takes_caller)
        .then(|| quote!(impl ::redress::__private::ChecksWhere<::redress::__private::CallerUnknown> for #marker {}));
    let needed: Vec<&Type> =
        arguments.iter().filter(|argument| argument.role == ArgumentRole::Other).map(|argument| &argument.ty).collect();
    let needs = if needed.is_empty() {
        quote!(::std::vec::Vec::new())
    } else {
        quote!([#(<#needed as ::redress::__private::Argument<'_, #known>>::needs()),*].into_iter().flatten().collect())
    };
    let values = arguments.iter().map(|argument| match argument.role {
        ArgumentRole::Ctx => quote!(__ctx),
        ArgumentRole::Caller | ArgumentRole::Other | ArgumentRole::Input => {
            let ty = &argument.ty;
            quote_spanned!(ty.span()=> <#ty as ::redress::__private::Argument<'_, #known>>::take(__ctx)?)
        }
    });
    let run = quote_spanned! {span=>
        fn run<'__a>(
            __ctx: &'__a ::redress::__private::Ctx,
            __input: &'__a #input_ty,
        ) -> impl ::core::future::Future<Output = #returns> + ::core::marker::Send + '__a {
            async move { let _ = __ctx; #ident(#(#values,)* __input).await }
        }
    };
    quote! {
        #mistakes

        #(#conditions)*
        #[doc(hidden)]
        #[allow(non_camel_case_types, unreachable_pub)]
        #vis struct #marker {}

        #(#outside)*
        #vis fn #ident #generics (
            #(#names: #types,)* #input: &#input_ty
        ) -> #tag #conditions_of_types {
            #(#inside)*
            #sig #block
            ::redress::__private::Tagged::new(#ident(#(#names,)* #input))
        }

        #(#conditions)*
        #[automatically_derived]
        impl #generics ::redress::__private::Checks<#input_ty> for #marker #conditions_of_types {
            type Failure = #failure;

            fn needs() -> ::std::vec::Vec<(::core::any::TypeId, &'static str)> {
                #needs
            }

            #run
        }

        #(#conditions)*
        impl ::redress::__private::ChecksWhere<#known> for #marker {}
        #(#conditions)*
        #everywhere
    }
}
