//! What can be wrong with what an operator gives.

use std::{io, path::PathBuf};

use crate::Algorithm;

/// Why access cannot be set up, or a token cannot be kept. Nothing of a secret is in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AccessError {
    /// A file cannot be read.
    #[error("`{}` cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file that was read before is not there any more.
    #[error("`{}` is gone; to revoke every token, revoke each, or leave the file with an empty list", path.display())]
    Gone {
        /// The file.
        path: PathBuf,
    },
    /// A token would end after the year 9999, which no file can say.
    #[error("a token ends before the year 10000, or never")]
    EndsTooLate,
    /// A set has more keys than any issuer needs.
    #[error("the keys of `{origin}` are more than {max}")]
    KeysMany {
        /// The file, or the URL without user and query.
        origin: String,
        /// How many are taken.
        max: usize,
    },
    /// A file cannot be written.
    #[error("`{}` cannot be written", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file of tokens is not one.
    #[error("`{}` is no file of tokens: line {line}, column {column}", path.display())]
    TokensMalformed {
        /// The file.
        path: PathBuf,
        /// The line where it goes wrong.
        line: usize,
        /// The column where it goes wrong.
        column: usize,
    },
    /// An entry of the file of tokens says what it must not.
    #[error("in `{}`, the token `{id}` has no usable `{member}`", path.display())]
    TokenUnusable {
        /// The file.
        path: PathBuf,
        /// The id of the entry.
        id: String,
        /// The member that is wrong.
        member: &'static str,
    },
    /// There is no such token.
    #[error("there is no token `{id}` in `{}`", path.display())]
    TokenMissing {
        /// The file.
        path: PathBuf,
        /// What was looked for.
        id: String,
    },
    /// Two tokens of the file have one id.
    #[error("in `{}`, two tokens are called `{id}`", path.display())]
    TokenTwice {
        /// The file.
        path: PathBuf,
        /// What both are called.
        id: String,
    },
    /// The machine gives no random bytes, so no token can be made.
    #[error("there are no random bytes to make a token of")]
    NothingRandom,
    /// The hash of a token is not 64 hexadecimal digits.
    #[error("the token hash of caller `{caller}` is not 64 hexadecimal digits")]
    HashMalformed {
        /// Whose it is.
        caller: String,
    },
    /// Two callers are known by one token.
    #[error("the token hash of caller `{caller}` is given twice")]
    HashTwice {
        /// Whose it is, the second time.
        caller: String,
    },
    /// A caller has no name.
    #[error("a caller needs a name")]
    CallerUnnamed,
    /// A name, a scope or a note holds what cannot be shown or sent.
    #[error("a {what} is empty or holds characters that it must not")]
    Unprintable {
        /// What it is: `caller`, `scope`, `note` or `name of a certificate`.
        what: &'static str,
    },
    /// The set of keys is not one.
    #[error("`{origin}` is no JSON Web Key Set")]
    KeysMalformed {
        /// The file, or the URL without user and query.
        origin: String,
    },
    /// The set holds no key that could have signed a token.
    #[error("`{origin}` holds no key that can verify a token")]
    KeysMissing {
        /// The file, or the URL without user and query.
        origin: String,
    },
    /// A file holds a private key where a public one belongs.
    #[error("`{}` holds a private key; give the public one", path.display())]
    KeyPrivate {
        /// The file.
        path: PathBuf,
    },
    /// The shared secret is a public key, which everybody knows.
    #[error("`{}` holds a key or a certificate, not a shared secret", path.display())]
    SecretPublic {
        /// The file.
        path: PathBuf,
    },
    /// The shared secret can be guessed.
    #[error("the secret in `{}` is shorter than {needed} bytes", path.display())]
    SecretShort {
        /// The file.
        path: PathBuf,
        /// The fewest bytes that it needs.
        needed: usize,
    },
    /// No key verifies an algorithm that is allowed.
    #[error("`{origin}` holds no key for {algorithm}")]
    AlgorithmWithoutKey {
        /// The file, or the URL without user and query.
        origin: String,
        /// The algorithm.
        algorithm: Algorithm,
    },
    /// The address of keys is no URL, or one without a host.
    #[error("the address of keys is no URL of a host")]
    UrlMalformed,
    /// The URL of keys is neither `https` nor on this machine.
    #[error("keys are taken by `https`, or by `http` from this machine alone; `{url}` is neither")]
    UrlUnsafe {
        /// The URL, without user and query.
        url: String,
    },
    /// The keys could not be fetched.
    #[error("the keys at `{url}` could not be fetched: {reason}")]
    Unreachable {
        /// The URL, without user and query.
        url: String,
        /// What happened, in a few words.
        reason: &'static str,
    },
    /// Two rules name the same certificate.
    #[error("two certificate rules name `{name}`")]
    CertificateTwice {
        /// The name.
        name: String,
    },
}
