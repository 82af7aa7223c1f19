//! What is written out for an enum of failures.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{DeriveInput, Ident, Path, Type, ext::IdentExt, spanned::Spanned};

use super::{
    declaration::declaration,
    parse::FailureField,
    validate::{Failures, ValidFailure},
};
use crate::{mistakes::Mistakes, template::TemplatePart};

/// The implementations.
pub(crate) fn expand(failures: &Failures) -> TokenStream {
    let display = display(failures);
    let error = error(failures);
    let any = any(failures);
    let declared = declared(failures);
    let declared_by = declared_by(&failures.ident, &failures.include);
    quote!(#display #error #any #declared #declared_by)
}

/// What is written where something is wrong: the mistakes, and implementations that keep
/// the rest of the program from complaining that there are none.
pub(crate) fn stand_in(item: &DeriveInput, include: &[Path], mistakes: &Mistakes) -> TokenStream {
    let ident = &item.ident;
    let (generics, arguments, _) = item.generics.split_for_impl();
    let bounds = item.generics.params.first().map(
        |_| quote!(where #ident #arguments: ::core::fmt::Debug + ::core::marker::Send + ::core::marker::Sync + 'static),
    );
    let mut distinct: Vec<&Path> = Vec::new();
    for path in include {
        if !path.is_ident(ident) && !distinct.contains(&path) {
            distinct.push(path);
        }
    }
    let declared_by = bounds.is_none().then(|| declared_by(ident, distinct));
    quote! {
        #mistakes
        impl #generics ::core::fmt::Display for #ident #arguments #bounds {
            fn fmt(&self, _: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::result::Result::Ok(())
            }
        }
        impl #generics ::core::error::Error for #ident #arguments #bounds {}
        impl #generics ::redress::__private::AnyFailure for #ident #arguments #bounds {
            fn code(&self) -> &str {
                ""
            }
            fn details(
                &self,
            ) -> ::core::result::Result<
                ::core::option::Option<::redress::__private::contract::Json>,
                ::redress::__private::serde_json::Error,
            > {
                ::core::result::Result::Ok(::core::option::Option::None)
            }
            fn write_field(&self, _: &str, _: &mut ::std::vec::Vec<u8>) -> bool {
                false
            }
            fn as_any(&self) -> &dyn ::core::any::Any {
                self
            }
        }
        impl #generics ::redress::__private::Failure for #ident #arguments #bounds {
            fn declarations() -> ::std::vec::Vec<::redress::__private::contract::FailureDeclaration> {
                ::std::vec::Vec::new()
            }
            fn includes(_: ::core::any::TypeId) -> bool {
                false
            }
            fn absorb(
                _: &mut dyn ::core::any::Any,
            ) -> ::core::option::Option<::std::sync::Arc<dyn ::redress::__private::AnyFailure>> {
                ::core::option::Option::None
            }
        }
        #declared_by
    }
}

fn declared_by<'a>(ident: &Ident, include: impl IntoIterator<Item = &'a Path>) -> TokenStream {
    let include = include.into_iter();
    quote! {
        #[automatically_derived]
        impl ::redress::__private::DeclaredBy<#ident> for #ident {}
        #(#[automatically_derived] impl ::redress::__private::DeclaredBy<#ident> for #include {})*
    }
}

/// The name a field is bound to in a pattern, which no field or argument has.
fn bound(place: usize) -> Ident {
    format_ident!("__field{place}")
}

impl Failures {
    /// What is matched. Nothing is a value of an enum without variants, and a reference to it still has to be followed.
    fn this(&self) -> TokenStream {
        if self.variants.is_empty() { quote!(*self) } else { quote!(self) }
    }
}

impl FailureField {
    /// The field's type as callers are shown it. That it cannot be shown is told at the type by everything that needs
    /// it, in the same words, and so by the compiler only once.
    pub(super) fn shown(&self) -> TokenStream {
        let ty = &self.ty;
        let span = ty.span().resolved_at(Span::call_site());
        quote_spanned!(span=> <#ty as ::redress::__private::PublicField>)
    }
}

impl ValidFailure {
    fn public(&self) -> impl Iterator<Item = (usize, &FailureField)> {
        self.fields.iter().enumerate().filter(|(_, field)| !field.private)
    }

    /// The pattern that binds the fields in `places` and no others.
    fn pattern(&self, places: &[usize]) -> TokenStream {
        let ident = &self.ident;
        let bindings = places.iter().filter_map(|place| {
            let member = &self.fields.get(*place)?.member;
            let name = bound(*place);
            Some(quote!(#member: #name,))
        });
        if self.fields.is_empty() { quote!(Self::#ident) } else { quote!(Self::#ident { #(#bindings)* .. }) }
    }

    fn place_of(&self, name: &str) -> usize {
        self.fields.iter().position(|field| field.name() == name).unwrap_or_default()
    }
}

fn display(failures: &Failures) -> TokenStream {
    let ident = &failures.ident;
    let arms = failures.variants.iter().map(|failure| {
        let Some(message) = &failure.message else {
            let (pattern, when) = (failure.pattern(&[]), &failure.when);
            return quote!(#pattern => __out.write_str(#when),);
        };
        let mut places = Vec::new();
        let mut writes = Vec::new();
        for part in &message.parts {
            match part {
                TemplatePart::Text(text) => writes.push(quote!(__out.write_str(#text)?;)),
                TemplatePart::Field(name) => {
                    let place = failure.place_of(name);
                    let name = bound(place);
                    let shown = failure.fields.get(place).map(FailureField::shown);
                    writes.push(quote!(#shown::write_plain(#name, __out)?;));
                    if !places.contains(&place) {
                        places.push(place);
                    }
                }
            }
        }
        let pattern = failure.pattern(&places);
        quote!(#pattern => { #(#writes)* ::core::result::Result::Ok(()) })
    });
    let this = failures.this();
    quote! {
        #[automatically_derived]
        #[allow(deprecated)]
        impl ::core::fmt::Display for #ident {
            fn fmt(&self, __out: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                match #this { #(#arms)* }
            }
        }
    }
}

fn error(failures: &Failures) -> TokenStream {
    let ident = &failures.ident;
    let arms: Vec<_> = failures
        .variants
        .iter()
        .map(|failure| match failure.fields.iter().position(|field| field.source) {
            Some(place) => {
                let (pattern, name) = (failure.pattern(&[place]), bound(place));
                let boxed = failure.fields.get(place).is_some_and(|field| holds_dyn(&field.ty));
                let source = if boxed { quote!(&**#name) } else { quote!(#name) };
                quote!(#pattern => ::core::option::Option::Some(#source),)
            }
            None => {
                let pattern = failure.pattern(&[]);
                quote!(#pattern => ::core::option::Option::None,)
            }
        })
        .collect();
    let any = failures.variants.iter().any(|failure| failure.fields.iter().any(|field| field.source));
    let source = any.then(|| {
        quote! {
            #[allow(clippy::match_same_arms)]
            fn source(&self) -> ::core::option::Option<&(dyn ::core::error::Error + 'static)> {
                match self { #(#arms)* }
            }
        }
    });
    quote! {
        #[automatically_derived]
        #[allow(deprecated)]
        impl ::core::error::Error for #ident { #source }
    }
}

/// Whether the type is a pointer to a `dyn Error`, which is no `Error` itself.
fn holds_dyn(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    let Some(last) = path.path.segments.last() else { return false };
    (last.ident == "Box" || last.ident == "Arc" || last.ident == "Rc")
        && last.arguments.to_token_stream().into_iter().any(|token| token.to_string() == "dyn")
}

fn any(failures: &Failures) -> TokenStream {
    let ident = &failures.ident;
    let codes = failures.variants.iter().map(|failure| {
        // A private field is there for whoever reads the log; binding it keeps the compiler
        // from calling it dead.
        let places: Vec<usize> =
            failure.fields.iter().enumerate().filter(|(_, field)| field.private).map(|(place, _)| place).collect();
        let ident = &failure.ident;
        let code = &failure.code;
        let bindings = places.iter().filter_map(|place| {
            let member = &failure.fields.get(*place)?.member;
            let name = format_ident!("_field{place}");
            Some(quote!(#member: #name,))
        });
        if failure.fields.is_empty() {
            quote!(Self::#ident => #code,)
        } else {
            quote!(Self::#ident { #(#bindings)* .. } => #code,)
        }
    });
    let details = failures.variants.iter().map(details);
    let fields: Vec<_> = failures.variants.iter().flat_map(fields).collect();
    let (field, found) = if fields.is_empty() {
        (quote!(_: &str, _: &mut ::std::vec::Vec<u8>), quote!(false))
    } else {
        let found = quote!(match (self, __name) { #(#fields)* _ => false });
        (quote!(__name: &str, __json: &mut ::std::vec::Vec<u8>), found)
    };
    let retry_after = retry_after(failures);
    let this = failures.this();
    quote! {
        #[automatically_derived]
        #[allow(deprecated)]
        impl ::redress::__private::AnyFailure for #ident {
            fn code(&self) -> &str {
                match #this { #(#codes)* }
            }
            #[allow(clippy::match_same_arms)]
            fn details(
                &self,
            ) -> ::core::result::Result<
                ::core::option::Option<::redress::__private::contract::Json>,
                ::redress::__private::serde_json::Error,
            > {
                match #this { #(#details)* }
            }
            fn write_field(&self, #field) -> bool {
                #found
            }
            #retry_after
            fn as_any(&self) -> &dyn ::core::any::Any {
                self
            }
        }
    }
}

/// The public fields of one variant, written in one pass.
fn details(failure: &ValidFailure) -> TokenStream {
    let public: Vec<_> = failure.public().collect();
    let places: Vec<usize> = public.iter().map(|(place, _)| *place).collect();
    let pattern = failure.pattern(&places);
    if public.is_empty() {
        return quote!(#pattern => ::core::result::Result::Ok(::core::option::Option::None),);
    }
    let types = public.iter().map(|(_, field)| &field.ty);
    let shown = public.iter().map(|(_, field)| field.shown());
    let names = public.iter().map(|(_, field)| field.name());
    let bound = places.iter().map(|place| bound(*place));
    let (count, members) = (public.len(), (0..public.len()).map(syn::Index::from));
    let title = failure.ident.unraw().to_string();
    quote! {
        #pattern => {
            struct __Details<'__a>(#(&'__a #types,)*);
            impl ::redress::__private::serde::Serialize for __Details<'_> {
                fn serialize<__S: ::redress::__private::serde::Serializer>(
                    &self,
                    __serializer: __S,
                ) -> ::core::result::Result<__S::Ok, __S::Error> {
                    use ::redress::__private::serde::ser::SerializeStruct as _;
                    let mut __object = __serializer.serialize_struct(#title, #count)?;
                    #(#shown::serialize_in(self.#members, &mut __object, #names)?;)*
                    __object.end()
                }
            }
            ::redress::__private::contract::Json::of(&__Details(#(#bound),*)).map(::core::option::Option::Some)
        }
    }
}

fn fields(failure: &ValidFailure) -> Vec<TokenStream> {
    failure
        .public()
        .map(|(place, field)| {
            let (pattern, name, bound) = (failure.pattern(&[place]), field.name(), bound(place));
            let shown = field.shown();
            quote!((#pattern, #name) => #shown::write_json(#bound, __json),)
        })
        .collect()
}

fn retry_after(failures: &Failures) -> Option<TokenStream> {
    if failures.variants.iter().all(|failure| failure.retry_after.is_none()) {
        return None;
    }
    let arms = failures.variants.iter().map(|failure| match &failure.retry_after {
        Some(field) => {
            let place = failure.place_of(&field.unraw().to_string());
            let (pattern, name) = (failure.pattern(&[place]), bound(place));
            quote!(#pattern => ::core::option::Option::Some(<u64 as ::core::convert::From<_>>::from(*#name)),)
        }
        None => {
            let pattern = failure.pattern(&[]);
            quote!(#pattern => ::core::option::Option::None,)
        }
    });
    Some(quote! {
        #[allow(clippy::match_same_arms)]
        fn retry_after_ms(&self) -> ::core::option::Option<u64> {
            match self { #(#arms)* }
        }
    })
}

fn declared(failures: &Failures) -> TokenStream {
    let (ident, include) = (&failures.ident, &failures.include);
    let declarations = failures.variants.iter().map(declaration);
    let mut declarations = quote!(::std::vec![#(#declarations),*]);
    let mut helpers = None;
    if !include.is_empty() {
        // What two included enums both include is one failure, not two.
        declarations = quote! {
            let mut __declarations = #declarations;
            for __declaration in [#(__Included::declarations::<#include>()),*].into_iter().flatten() {
                if !__declarations.contains(&__declaration) {
                    __declarations.push(__declaration);
                }
            }
            __declarations
        };
        helpers = Some(included(ident));
    }
    let implementation = quote! {
        #[automatically_derived]
        impl ::redress::__private::Failure for #ident {
            fn declarations() -> ::std::vec::Vec<::redress::__private::contract::FailureDeclaration> {
                #declarations
            }
            fn includes(__id: ::core::any::TypeId) -> bool {
                __id == ::core::any::TypeId::of::<Self>() #(|| __Included::includes::<#include>(__id))*
            }
            fn absorb(
                __slot: &mut dyn ::core::any::Any,
            ) -> ::core::option::Option<::std::sync::Arc<dyn ::redress::__private::AnyFailure>> {
                if let ::core::option::Option::Some(__own) = __slot.downcast_mut::<::core::option::Option<Self>>() {
                    let __own = ::std::sync::Arc::new(__own.take()?);
                    return ::core::option::Option::Some(__own);
                }
                #(
                    let __included = __Included::absorb::<#include>(__slot);
                    if __included.is_some() {
                        return __included;
                    }
                )*
                ::core::option::Option::None
            }
        }
    };
    match helpers {
        Some(helpers) => quote!(const _: () = { #helpers #implementation };),
        None => implementation,
    }
}

/// Access to the included enums through what is written for them as `DeclaredBy`, so that
/// one which declares nothing is told there and nowhere else.
fn included(ident: &Ident) -> TokenStream {
    quote! {
        enum __Included {}

        impl __Included {
            fn declarations<__I: ::redress::__private::DeclaredBy<#ident>>(
            ) -> ::std::vec::Vec<::redress::__private::contract::FailureDeclaration> {
                __I::declarations()
            }
            fn includes<__I: ::redress::__private::DeclaredBy<#ident>>(__id: ::core::any::TypeId) -> bool {
                __I::includes(__id)
            }
            fn absorb<__I: ::redress::__private::DeclaredBy<#ident>>(
                __slot: &mut dyn ::core::any::Any,
            ) -> ::core::option::Option<::std::sync::Arc<dyn ::redress::__private::AnyFailure>> {
                __I::absorb(__slot)
            }
        }
    }
}
