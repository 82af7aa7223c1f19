//! That a declaration is on its way out: `deprecated(since = "2.0.0", replaced_by = "…")`.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

use crate::{
    attribute::{AttributeItem, AttributeItems, WordRow},
    mistakes::Mistakes,
};

static WORDS: [WordRow<Deprecation>; 4] = [
    WordRow { name: "since", read: |into, item, mistakes| into.since = written(&item, mistakes).unwrap_or_default() },
    WordRow { name: "replaced_by", read: |into, item, mistakes| into.replaced_by = written(&item, mistakes) },
    WordRow { name: "remove_in", read: |into, item, mistakes| into.remove_in = written(&item, mistakes) },
    WordRow { name: "reason", read: |into, item, mistakes| into.reason = written(&item, mistakes) },
];

fn written(item: &AttributeItem, mistakes: &mut Mistakes) -> Option<String> {
    item.text(mistakes).map(|text| text.value())
}

/// What `deprecated(…)` says.
#[derive(Default)]
pub(crate) struct Deprecation {
    since: String,
    replaced_by: Option<String>,
    remove_in: Option<String>,
    reason: Option<String>,
}

impl Deprecation {
    /// Reads `deprecated(…)`.
    pub(crate) fn read(item: &AttributeItem, mistakes: &mut Mistakes) -> Option<Deprecation> {
        let list = item.list("since = \"2.0.0\", replaced_by = \"…\"", mistakes)?;
        let mut items = AttributeItems::default();
        items.read(list, &WordRow::names(&WORDS), &[], mistakes);
        if items.lacks("since") {
            mistakes.add(&item.name, "say since when: `deprecated(since = \"2.0.0\")`");
        }
        let mut deprecation = Deprecation::default();
        WordRow::read_all(&WORDS, items.items, &mut deprecation, mistakes);
        Some(deprecation)
    }
}

impl ToTokens for Deprecation {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Deprecation { since, replaced_by, remove_in, reason } = self;
        let (replaced_by, remove_in, reason) = (given(replaced_by), given(remove_in), given(reason));
        tokens.extend(quote! {
            ::redress::__private::contract::Deprecation {
                since: ::std::string::String::from(#since),
                replaced_by: #replaced_by,
                remove_in: #remove_in,
                reason: #reason,
            }
        });
    }
}

fn given(text: &Option<String>) -> TokenStream {
    match text {
        Some(text) => quote!(::core::option::Option::Some(::std::string::String::from(#text))),
        None => quote!(::core::option::Option::None),
    }
}
