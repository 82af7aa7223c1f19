use proc_macro2::TokenStream;
use quote::quote;

use super::attribute;

fn written(words: TokenStream, item: TokenStream) -> String {
    prettyplease::unparse(&syn::parse2(attribute(words, item)).unwrap())
}

#[test]
fn a_function_is_written_out_beside_its_marker() {
    insta::assert_snapshot!(written(
        quote!(query, name = "files.read", access(scopes = "files:read"), deadline = "5s"),
        quote! {
            /// Read a text file.
            #[allow(clippy::unused_async)]
            pub(crate) async fn read(ctx: &Ctx, Read { path }: Read) -> Outcome<Text, Reading> {
                Ok(Text(path))
            }
        }
    ));
}

#[test]
fn a_strict_function_takes_its_arguments_from_the_call() {
    insta::assert_snapshot!(written(
        quote!(query, name = "clock.now", strict, access(anyone)),
        quote! {
            /// Tell the time.
            async fn now(State(app): State<App>, _who: Option<&Caller>) -> Outcome<u64> {
                Ok(app.now())
            }
        }
    ));
}

#[test]
fn every_mistake_of_a_function_is_told_at_once_and_it_stays() {
    let written = written(
        quote!(query, mutation, name = "read", deadline = "0s", buffer = 1),
        quote!(
            fn read(input: Read) -> Outcome<Text> {
                unreachable!()
            }
        ),
    );
    assert_eq!(written.matches("compile_error!").count(), 6, "{written}");
    assert!(written.contains("async fn read(input: Read)") && written.contains("Declared for __operation_read"));
}

#[test]
fn conditions_hold_for_everything_that_is_written() {
    let written = written(
        quote!(query, name = "files.read"),
        quote! {
            /// Read a text file.
            #[cfg(unix)]
            async fn read(input: Read) -> Outcome<Text> { unreachable!() }
        },
    );
    assert_eq!(written.matches("#[cfg(unix)]").count(), 4, "{written}");
}
