//! What the function itself says: its arguments, in their roles, and what it returns.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{FnArg, GenericArgument, Ident, ItemFn, Pat, PathArguments, ReturnType, Safety, Type, TypePath};

use crate::mistakes::Mistakes;

/// The most arguments for which the registry knows functions.
const MAX_ARGUMENTS: usize = 6;

/// A function that can be an operation.
pub(super) struct Signature {
    pub(super) arguments: Vec<FunctionArgument>,
    pub(super) returns: Type,
    /// Whether what it returns is spelled as a stream.
    pub(super) streams: bool,
    /// The type that it gives, where that is spelled and certainly no stream.
    pub(super) gives_one: Option<Ident>,
}

/// One argument.
pub(crate) struct FunctionArgument {
    pub(crate) name: Ident,
    pub(crate) ty: Type,
    pub(crate) role: ArgumentRole,
}

/// Where an argument comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArgumentRole {
    /// `&Ctx`.
    Ctx,
    /// `&Caller`.
    Caller,
    /// Anything else that comes from the call; its type says what.
    Other,
    /// The input.
    Input,
}

/// Reads the function. Nothing comes back where it cannot even stand in for an operation.
pub(super) fn signature(function: &ItemFn, mistakes: &mut Mistakes) -> Option<Signature> {
    let sig = &function.sig;
    let mut usable = true;
    let mut refuse = |token: TokenStream, message: &str| {
        mistakes.add(token, message);
        usable = false;
    };
    if let Some(word) = &sig.constness {
        refuse(word.to_token_stream(), "an operation is not `const`; remove this");
    }
    if let Safety::Unsafe(word) = &sig.safety {
        refuse(word.to_token_stream(), "an operation is called by everyone, so it is not `unsafe`; remove this");
    }
    if let Some(abi) = &sig.abi {
        refuse(abi.extern_token.to_token_stream(), "an operation is an ordinary Rust function; remove `extern`");
    }
    if let Some(parameter) = sig.generics.params.first() {
        refuse(parameter.to_token_stream(), "an operation has no parameters of its own; write the types themselves");
    }
    if let Some(variadic) = &sig.variadic {
        refuse(variadic.dots.to_token_stream(), "an operation has one input; put what it takes in one struct");
    }
    if let Some(seventh) = sig.inputs.iter().nth(MAX_ARGUMENTS) {
        let token = match seventh {
            FnArg::Typed(argument) => argument.pat.to_token_stream(),
            FnArg::Receiver(receiver) => receiver.self_token.to_token_stream(),
        };
        refuse(token, "an operation has at most six arguments; put what it takes in one struct");
    }
    let arguments = arguments(function, &mut refuse);
    let returns = returns(function, &mut refuse);
    if sig.asyncness.is_none() {
        mistakes.add(sig.fn_token, "an operation is asynchronous; write `async fn`");
    }
    if !usable {
        return None;
    }
    let (arguments, returns) = (arguments?, returns?);
    let gives = first_argument(&returns).and_then(last_segment).cloned();
    let streams = gives.as_ref().is_some_and(|name| name == "Events");
    Some(Signature { arguments, returns, streams, gives_one: gives.filter(is_of_std) })
}

fn arguments(function: &ItemFn, refuse: &mut impl FnMut(TokenStream, &str)) -> Option<Vec<FunctionArgument>> {
    let mut arguments: Vec<FunctionArgument> = Vec::new();
    let count = function.sig.inputs.len();
    for (place, argument) in function.sig.inputs.iter().enumerate() {
        let argument = match argument {
            FnArg::Typed(argument) => argument,
            FnArg::Receiver(receiver) => {
                let message = "an operation is a free function; take what you need as `State<T>`";
                refuse(receiver.self_token.to_token_stream(), message);
                return None;
            }
        };
        let role = role(&argument.ty, place + 1 == count);
        match (&*argument.ty, role) {
            (Type::Reference(reference), ArgumentRole::Input) => {
                refuse(reference.and_token.to_token_stream(), "an operation owns its input; remove the `&`");
            }
            (Type::ImplTrait(ty), _) => {
                refuse(
                    ty.impl_token.to_token_stream(),
                    "an operation has no parameters of its own; write the type itself",
                );
            }
            _ => {}
        }
        let name = argument_name(&argument.pat, place, function, &arguments);
        arguments.push(FunctionArgument { name, ty: (*argument.ty).clone(), role });
    }
    Some(arguments)
}

pub(crate) fn role(ty: &Type, last: bool) -> ArgumentRole {
    let referred = |ty: &Type| {
        let Type::Reference(reference) = ty else { return None };
        if reference.mutability.is_some() { None } else { last_segment(&reference.elem).cloned() }
    };
    match (referred(ty), last_segment(ty)) {
        (Some(name), _) if name == "Ctx" => ArgumentRole::Ctx,
        (Some(name), _) if name == "Caller" => ArgumentRole::Caller,
        (_, Some(name)) if name == "State" => ArgumentRole::Other,
        (_, Some(name))
            if name == "Option" && first_argument(ty).and_then(referred).is_some_and(|of| of == "Caller") =>
        {
            ArgumentRole::Other
        }
        _ if last => ArgumentRole::Input,
        _ => ArgumentRole::Other,
    }
}

/// A name for the argument outside: the function's own where that is a plain word which
/// hides nothing that the call needs.
pub(crate) fn argument_name(pattern: &Pat, place: usize, function: &ItemFn, before: &[FunctionArgument]) -> Ident {
    if let Pat::Ident(pattern) = pattern
        && pattern.subpat.is_none()
    {
        let bare = pattern.ident.to_string();
        let bare = bare.trim_start_matches('_');
        let taken = before.iter().any(|argument| argument.name == bare) || function.sig.ident == bare;
        if !taken && let Ok(name) = syn::parse_str::<Ident>(bare) {
            return Ident::new(&name.to_string(), pattern.ident.span());
        }
    }
    quote::format_ident!("argument_{place}")
}

fn returns(function: &ItemFn, refuse: &mut impl FnMut(TokenStream, &str)) -> Option<Type> {
    const ADVICE: &str = "an operation returns `Outcome<T, E>`, where `E` derives `Failure`; write that here";
    let ty = match &function.sig.output {
        ReturnType::Default => {
            refuse(function.sig.ident.to_token_stream(), "an operation returns `Outcome<T, E>`; write `-> Outcome<…>`");
            return None;
        }
        ReturnType::Type(_, ty) => &**ty,
    };
    match last_segment(ty) {
        // Another name may be an alias of an outcome; these are not.
        Some(name) if is_of_std(name) => {
            refuse(name.to_token_stream(), ADVICE);
            None
        }
        Some(_) => Some(ty.clone()),
        None => {
            refuse(quote!(#ty), ADVICE);
            None
        }
    }
}

/// Whether the name is one that everybody knows from the standard library.
pub(crate) fn is_of_std(name: &Ident) -> bool {
    const NAMES: [&str; 24] = [
        "Result", "Option", "String", "str", "Vec", "Box", "Arc", "HashMap", "BTreeMap", "bool", "char", "f32", "f64",
        "u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64", "isize", "Value",
    ];
    NAMES.iter().any(|known| name == known)
}

pub(crate) fn last_segment(ty: &Type) -> Option<&Ident> {
    if let Type::Group(group) = ty {
        return last_segment(&group.elem);
    }
    let Type::Path(TypePath { path, .. }) = ty else { return None };
    path.segments.last().map(|segment| &segment.ident)
}

fn first_argument(ty: &Type) -> Option<&Type> {
    let Type::Path(TypePath { path, .. }) = ty else { return None };
    let PathArguments::AngleBracketed(arguments) = &path.segments.last()?.arguments else { return None };
    let GenericArgument::Type(ty) = arguments.args.first()? else { return None };
    Some(ty)
}
