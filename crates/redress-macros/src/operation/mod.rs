//! `#[operation]`.

mod attributes;
mod expand;
mod parse;
pub(crate) mod signature;
mod validate;
mod verification;

#[cfg(test)]
mod tests;

use proc_macro2::TokenStream;
use quote::quote;
use syn::ItemFn;

pub(crate) use expand::is_outside;

use crate::mistakes::Mistakes;

/// Writes the operation beside the function, or says everything that is wrong with it.
pub(crate) fn attribute(words: TokenStream, item: TokenStream) -> TokenStream {
    let mut mistakes = Mistakes::default();
    let function: ItemFn = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(error) => {
            let error = if syn::parse2::<syn::Item>(item.clone()).is_ok() {
                syn::Error::new_spanned(crate::data::keyword(&item), "`#[operation]` goes on an `async fn` with a body")
            } else {
                error
            };
            let error = error.to_compile_error();
            return quote!(#error #item);
        }
    };
    let parsed = parse::parse(words, &mut mistakes);
    let signature = signature::signature(&function, &mut mistakes);
    let operation = validate::validate(parsed, &function, signature.as_ref(), &mut mistakes);
    match (signature, operation) {
        (Some(signature), Some(operation)) if mistakes.none() => expand::expand(&function, &signature, &operation),
        (Some(signature), _) => expand::stand_in(&function, &signature, &mistakes),
        (None, _) => quote!(#mistakes #item),
    }
}
