//! Why an upstream cannot be made of a document and a configuration.

/// Why an upstream cannot be made of a document and a configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UpstreamError {
    /// Nobody says where the service is.
    #[error("the document does not say where the service is: set `base_url`")]
    AddressMissing,
    /// An address is none, or one that is not connected to.
    #[error("`{address}` is no address that is connected to")]
    AddressUnsafe {
        /// The address.
        address: String,
    },
    /// Credentials are given for a scheme that the document does not have.
    #[error("the document has no security scheme `{scheme}`; it has {known:?}")]
    SchemeUnknown {
        /// The scheme.
        scheme: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// What is given for a scheme is of another sort.
    #[error("the credentials given for `{scheme}` are of another sort than the document asks for")]
    CredentialUnfit {
        /// The scheme.
        scheme: String,
    },
    /// A secret would go to an address that only the document names.
    #[error(
        "the document has tokens for `{scheme}` given at `{address}`, which is not the service itself: set `token_url` to it, if that is right"
    )]
    TokenAddressUnnamed {
        /// The scheme.
        scheme: String,
        /// The address.
        address: String,
    },
    /// Nobody says where tokens are given.
    #[error("nobody says where tokens for `{scheme}` are given: set `token_url` or `issuer`")]
    TokenAddressMissing {
        /// The scheme.
        scheme: String,
    },
    /// A regular expression of `fails_when` is none.
    #[error("`{pattern}` of `fails_when` is no regular expression")]
    PatternUnfit {
        /// The expression.
        pattern: String,
    },
    /// A certificate or a key cannot be read.
    #[error("`{path}` holds no certificate or key that can be used")]
    CertificateUnfit {
        /// The file.
        path: String,
    },
    /// No client could be made.
    #[error("no client could be made")]
    Client,
    /// A header that the configuration adds is none.
    #[error("`{name}` is no header that can be sent")]
    HeaderUnfit {
        /// Its name.
        name: String,
    },
}
