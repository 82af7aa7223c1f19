use proc_macro2::TokenStream;
use quote::quote;

use super::{derive, parse, validate};
use crate::mistakes::Mistakes;

/// What is wrong with `item`, all of it.
fn mistakes(item: TokenStream) -> Vec<String> {
    let item = syn::parse2(item).unwrap();
    let mut mistakes = Mistakes::default();
    let parsed = parse::parse(&item, &mut mistakes);
    validate::validate(parsed, &mut mistakes);
    mistakes.messages()
}

fn written(item: TokenStream) -> String {
    prettyplease::unparse(&syn::parse2(derive(item)).unwrap())
}

#[test]
fn every_mistake_of_an_enum_is_told_at_once() {
    let all = mistakes(quote! {
        #[failure(include(Reading))]
        enum Reading {
            #[failure(kind = notfound, http = 200, recover(stop, hint = "Stop."))]
            Gone,
            #[failure(message = "{nothing}", recover(wait, stop, hint = "Wait for a while, then stop."))]
            Busy(u8),
            Bare,
        }
    });
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn one_unreadable_part_is_one_mistake() {
    for (attribute, count) in [
        (quote!(kind not_found, recover(stop, hint = "There is nothing left to try.")), 1),
        (quote!(kind = not_found, recover = stop), 1),
        (quote!(kind = , recover(stop, hint = "There is nothing left to try.")), 1),
        (quote!(404, recover(stop, hint = "There is nothing left to try.")), 1),
        (quote!(kind = -1, recover(stop, hint = "There is nothing left to try.")), 1),
        (quote!(kind = not_found, recover(stop, hint = 5)), 1),
        (quote!(kind = not_found, recover(call = 5, hint = "There is nothing left to try.")), 1),
        (quote!(kind = not_found, recover(call = "a.b", bind(path), hint = "There is nothing left to try.")), 1),
        (quote!(kind = not_found, http = "404", recover(stop, hint = "There is nothing left to try.")), 1),
        (quote!(kind = not_found, extends(CONFLICT), recover(stop, hint = "There is nothing left to try.")), 1),
    ] {
        let told = mistakes(quote!(
            enum Reading {
                /// It is gone.
                #[failure(#attribute)]
                Gone,
            }
        ));
        assert_eq!(told.len(), count, "{attribute}: {told:?}");
    }
}

#[test]
fn an_enum_is_written_out() {
    insta::assert_snapshot!(written(quote! {
        #[failure(include(Store))]
        enum Reading {
            /// The file is gone.
            #[failure(kind = not_found, message = "no file at {path}", recover(call = "files.list", bind(path = folder),
                      hint = "List the folder and pick another."))]
            Gone { path: String, folder: String, #[failure(private)] os_error: i32 },
            /// The disk is busy.
            #[failure(kind = unavailable, retry_after = wait_ms, recover(wait, hint = "Wait a moment, then try again."))]
            Busy { wait_ms: u64, #[source] cause: std::io::Error },
        }
    }));
}

#[test]
fn a_mistaken_enum_still_has_its_implementations() {
    let written = written(quote!(
        enum Reading {
            Gone,
        }
    ));
    for part in [
        "compile_error!",
        "Display for Reading",
        "AnyFailure for Reading",
        "Failure for Reading",
        "DeclaredBy<Reading>",
    ] {
        assert!(written.contains(part), "{part} is not in\n{written}");
    }
}
