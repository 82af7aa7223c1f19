//! Raw bytes where an HTTP request should be.

use crate::{oracle, service, socket};

pub(super) fn target(data: &[u8]) {
    service::talk(async |service| {
        let answered = socket::raw(&service.router, &[], data, &[]).await;
        oracle::clean(&answered);
        assert!(answered.is_empty() || answered.starts_with(b"HTTP/1."), "{}", String::from_utf8_lossy(&answered));
        oracle::bounded(&answered, data);
    });
}
