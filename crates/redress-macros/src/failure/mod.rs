//! `#[derive(Failure)]`.

mod declaration;
mod expand;
mod parse;
mod recovery;
mod validate;

#[cfg(test)]
mod tests;

use proc_macro2::TokenStream;
use syn::DeriveInput;

use crate::mistakes::Mistakes;

/// Writes the implementations for `item`, or says everything that is wrong with it.
pub(crate) fn derive(item: TokenStream) -> TokenStream {
    let item: DeriveInput = match syn::parse2(item) {
        Ok(item) => item,
        Err(error) => return error.to_compile_error(),
    };
    let mut mistakes = Mistakes::default();
    let parsed = parse::parse(&item, &mut mistakes);
    let include = parsed.include.clone();
    match validate::validate(parsed, &mut mistakes) {
        Some(failures) if mistakes.none() => expand::expand(&failures),
        Some(_) | None => expand::stand_in(&item, &include, &mistakes),
    }
}
