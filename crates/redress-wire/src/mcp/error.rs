//! Protocol errors: what goes wrong before there is a call.

use crate::jsonrpc::Id;

use super::{Era, text::string};

/// What goes wrong before there is a call. Only what the protocol itself has a number for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolError {
    /// The message is not JSON.
    Parse,
    /// The message is no request.
    InvalidRequest,
    /// There is no such method.
    MethodNotFound,
    /// The parameters are not what the method takes, or name a tool that does not exist.
    InvalidParams,
    /// The server itself is at fault.
    Internal,
    /// There is no such document. The modern era has no number of its own for it.
    ResourceNotFound(Era),
    /// The headers say something else than the body.
    HeaderMismatch,
    /// The client cannot do what the request needs of it.
    MissingCapability,
    /// The revision is not served.
    UnsupportedVersion,
}

impl ProtocolError {
    /// Its number.
    pub const fn number(self) -> i32 {
        match self {
            ProtocolError::Parse => -32700,
            ProtocolError::InvalidRequest => -32600,
            ProtocolError::MethodNotFound => -32601,
            ProtocolError::InvalidParams => -32602,
            ProtocolError::Internal => -32603,
            ProtocolError::ResourceNotFound(Era::Legacy) => -32002,
            ProtocolError::ResourceNotFound(Era::Modern) => -32602,
            ProtocolError::HeaderMismatch => -32020,
            ProtocolError::MissingCapability => -32021,
            ProtocolError::UnsupportedVersion => -32022,
        }
    }

    /// Its status in the modern era. In the legacy one a request that was read is answered
    /// with 200, whatever the answer says.
    pub const fn http(self) -> u16 {
        match self {
            ProtocolError::Parse
            | ProtocolError::InvalidRequest
            | ProtocolError::HeaderMismatch
            | ProtocolError::MissingCapability
            | ProtocolError::UnsupportedVersion => 400,
            ProtocolError::MethodNotFound => 404,
            ProtocolError::InvalidParams | ProtocolError::Internal | ProtocolError::ResourceNotFound(_) => 200,
        }
    }
}

/// Appends the error response to the request of this `id`. `data` is JSON.
pub fn write_error(id: Id<'_>, error: ProtocolError, message: &str, data: Option<&[u8]>, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.extend_from_slice(id.as_json().as_bytes());
    out.extend_from_slice(br#","error":{"code":"#);
    out.extend_from_slice(error.number().to_string().as_bytes());
    out.extend_from_slice(br#","message":"#);
    string(message, out);
    if let Some(data) = data {
        out.extend_from_slice(br#","data":"#);
        out.extend_from_slice(data);
    }
    out.extend_from_slice(b"}}");
}
