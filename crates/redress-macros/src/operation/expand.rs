//! What is written out for an operation: the function, tagged, and beside it a marker that
//! knows everything which was declared.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Attribute, Ident, ItemFn, Token, Type, ext::IdentExt, spanned::Spanned};

use super::{
    attributes::attributes,
    signature::{ArgumentRole, Signature},
    validate::ValidOperation,
};
use crate::mistakes::Mistakes;

/// The function and its marker.
pub(super) fn expand(function: &ItemFn, signature: &Signature, operation: &ValidOperation) -> TokenStream {
    let parts = ExpansionParts::new(function, signature, operation.shape == "subscription");
    let tagged = parts.tagged(operation.strict);
    let name = &operation.name;
    let attributes = attributes(operation);
    let known = if operation.anyone { quote!(CallerUnknown) } else { quote!(CallerKnown) };
    let known = quote!(::redress::__private::#known);
    let check = operation.check.as_ref();
    let needs = parts.needs(&known);
    let (operation, run) = if parts.streams {
        (quote!(streams), parts.run(&known, &quote!(Streams), &quote!(open)))
    } else {
        (quote!(once), parts.run(&known, &quote!(Once), &quote!(run)))
    };
    let check = check.map(|check| {
        // What is wrong with it is told at its own name.
        let at_check = check.span().resolved_at(Span::call_site());
        quote_spanned!(at_check=> .checked_by::<Self, #known, _, _>(#check))
    });
    let operation = quote! {
        ::redress::__private::Operation::#operation::<Self>()
            .of_package(::core::option_env!("CARGO_PKG_NAME")) #check
    };
    let declared = parts.declared(name, &attributes, &needs, &operation);
    quote!(#tagged #declared #run)
}

/// What is written where something is wrong: the mistakes, and a function and a marker that
/// keep the rest of the program from complaining that there are none.
pub(super) fn stand_in(function: &ItemFn, signature: &Signature, mistakes: &Mistakes) -> TokenStream {
    let mut function = function.clone();
    function.sig.asyncness.get_or_insert_with(<Token![async]>::default);
    let parts = ExpansionParts::new(&function, signature, signature.streams);
    let tagged = parts.tagged(false);
    let attributes = quote!(::redress::__private::contract::OperationDeclaration::query(""));
    let declared = parts.declared("", &attributes, &quote!(::std::vec::Vec::new()), &quote!(::core::unreachable!()));
    quote!(#mistakes #tagged #declared)
}

/// What all that is written leans on.
struct ExpansionParts<'a> {
    function: &'a ItemFn,
    signature: &'a Signature,
    marker: Ident,
    /// The conditions under which the function exists at all.
    conditions: Vec<&'a Attribute>,
    streams: bool,
}

impl<'a> ExpansionParts<'a> {
    fn new(function: &'a ItemFn, signature: &'a Signature, streams: bool) -> ExpansionParts<'a> {
        ExpansionParts {
            function,
            signature,
            marker: format_ident!("__operation_{}", function.sig.ident.unraw()),
            conditions: function.attrs.iter().filter(|attribute| attribute.path().is_ident("cfg")).collect(),
            streams,
        }
    }

    /// The function as others see it, with the author's own inside.
    fn tagged(&self, strict: bool) -> TokenStream {
        let ExpansionParts { function, signature, marker, conditions, .. } = self;
        let (vis, ident, returns) = (&function.vis, &function.sig.ident, &signature.returns);
        let (outside, inside): (Vec<_>, Vec<_>) = function.attrs.iter().partition(|attribute| is_outside(attribute));
        let names: Vec<_> = signature.arguments.iter().map(|argument| &argument.name).collect();
        let types = signature.arguments.iter().map(|argument| &argument.ty);
        let mut sig = function.sig.clone();
        let mut call = quote!(#ident(#(#names),*));
        if strict {
            let outcome = self.outcome();
            sig.output = syn::parse_quote!(-> #outcome::Strict);
            call = quote!(async move { #outcome::from_strict(#call.await) });
        }
        let block = &function.block;
        // What is not `Send` is told at the function's name, as there is no better token.
        let at_name = ident.span().resolved_at(Span::call_site());
        let send = quote_spanned!(at_name=> ::core::marker::Send);
        let tag = quote_spanned!(at_name=> ::redress::__private::Tagged<#marker, impl ::core::future::Future<Output = #returns> + #send>);
        quote! {
            #(#conditions)*
            #[doc(hidden)]
            #[allow(non_camel_case_types, unreachable_pub)]
            #vis struct #marker {}

            #(#outside)*
            #vis fn #ident(
                #(#names: #types),*
            ) -> #tag {
                #(#inside)*
                #sig #block
                ::redress::__private::Tagged::new(#call)
            }
        }
    }

    /// Where the return type stands. What is wrong with it is told there by everything that
    /// needs it, in the same words, and so by the compiler only once.
    fn span(&self) -> Span {
        self.signature.returns.span().resolved_at(Span::call_site())
    }

    /// What the function returns, seen as an outcome.
    fn outcome(&self) -> TokenStream {
        let returns = &self.signature.returns;
        quote_spanned!(self.span()=> <#returns as ::redress::__private::IsOutcome>)
    }

    fn declared(
        &self,
        name: &str,
        attributes: &TokenStream,
        needs: &TokenStream,
        operation: &TokenStream,
    ) -> TokenStream {
        let ExpansionParts { signature, marker, conditions, .. } = self;
        let span = self.span();
        let outcome = self.outcome();
        let input = match signature.arguments.iter().find(|argument| argument.role == ArgumentRole::Input) {
            Some(argument) => argument.ty.to_token_stream(),
            None => quote!(::redress::__private::Nothing),
        };
        let mut output = quote_spanned!(span=> #outcome::Output);
        if self.streams {
            output = quote_spanned!(span=> <#output as ::redress::__private::IsEvents>::Item);
        }
        let failure = quote_spanned!(span=> #outcome::Failure);
        quote! {
            #(#conditions)*
            #[automatically_derived]
            impl ::redress::__private::Declared for #marker {
                type Input = #input;
                type Output = #output;
                type Failure = #failure;

                const NAME: &'static str = #name;

                fn attributes() -> ::redress::__private::contract::OperationDeclaration {
                    #attributes
                }

                fn needs() -> ::std::vec::Vec<(::core::any::TypeId, &'static str)> {
                    #needs
                }

                fn operation() -> ::redress::__private::Operation {
                    #operation
                }
            }
        }
    }

    /// The state that the arguments need.
    fn needs(&self, known: &TokenStream) -> TokenStream {
        let types: Vec<&Type> = self
            .signature
            .arguments
            .iter()
            .filter(|argument| argument.role == ArgumentRole::Other)
            .map(|argument| &argument.ty)
            .collect();
        if types.is_empty() {
            return quote!(::std::vec::Vec::new());
        }
        quote! {
            [#(<#types as ::redress::__private::Argument<'_, #known>>::needs()),*].into_iter().flatten().collect()
        }
    }

    /// How the engine calls the function.
    fn run(&self, known: &TokenStream, of: &TokenStream, run: &TokenStream) -> TokenStream {
        let ExpansionParts { function, signature, marker, conditions, .. } = self;
        let ident = &function.sig.ident;
        let values = signature.arguments.iter().map(|argument| match argument.role {
            ArgumentRole::Ctx => quote!(__ctx),
            ArgumentRole::Input => quote!(__input),
            ArgumentRole::Caller | ArgumentRole::Other => {
                let ty = &argument.ty;
                quote_spanned!(ty.span()=> <#ty as ::redress::__private::Argument<'_, #known>>::take(__ctx)?)
            }
        });
        let call = quote!(#ident(#(#values),*));
        let roles = || signature.arguments.iter().map(|argument| argument.role);
        // A future of our own around the author's is only there where an argument can be missing.
        let call = if roles().all(|role| matches!(role, ArgumentRole::Ctx | ArgumentRole::Input)) {
            call
        } else {
            quote!(async move { #call.await })
        };
        let ctx = if roles().any(|role| role != ArgumentRole::Input) { quote!(__ctx) } else { quote!(_) };
        let input = if roles().any(|role| role == ArgumentRole::Input) { quote!(__input) } else { quote!(_) };
        let returns = &signature.returns;
        quote_spanned! {self.span()=>
            #(#conditions)*
            #[automatically_derived]
            #[allow(deprecated)]
            impl ::redress::__private::#of for #marker {
                fn #run<'__a>(
                    #ctx: &'__a ::redress::__private::Ctx,
                    #input: Self::Input,
                ) -> impl ::core::future::Future<Output = #returns> + ::core::marker::Send + '__a {
                    #call
                }
            }
        }
    }
}

/// Whether an attribute speaks to those who call the function; the others speak about its body.
pub(crate) fn is_outside(attribute: &Attribute) -> bool {
    ["doc", "cfg", "deprecated", "must_use", "inline"].iter().any(|name| attribute.path().is_ident(name))
}
