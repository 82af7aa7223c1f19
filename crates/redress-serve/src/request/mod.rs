//! One HTTP request: what its headers say, its body, who sends it, and the response.

pub(crate) mod bearer;
pub(crate) mod body;
pub(crate) mod body_budget;
pub(crate) mod caller;
#[cfg(feature = "compression")]
pub(crate) mod compression;
pub(crate) mod cors;
pub(crate) mod etag;
pub(crate) mod framing;
pub(crate) mod meta;
pub(crate) mod page_origin;
pub(crate) mod response;
pub(crate) mod service;
