//! Everything that is wrong in one annotated item, gathered so that it is told at once.

use std::fmt::Display;

use proc_macro2::TokenStream;
use quote::ToTokens;

/// The mistakes found so far, each at the token that has to change.
#[derive(Default)]
pub(crate) struct Mistakes(Vec<syn::Error>);

impl Mistakes {
    /// Notes what is wrong with `token`, and what to write instead.
    pub(crate) fn add(&mut self, token: impl ToTokens, message: impl Display) {
        self.0.push(syn::Error::new_spanned(token, message));
    }

    /// Whether there is nothing to correct.
    pub(crate) fn none(&self) -> bool {
        self.0.is_empty()
    }

    /// The messages alone, in the order they were found.
    #[cfg(test)]
    pub(crate) fn messages(&self) -> Vec<String> {
        self.0.iter().map(ToString::to_string).collect()
    }
}

impl ToTokens for Mistakes {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        tokens.extend(self.0.iter().map(syn::Error::to_compile_error));
    }
}
