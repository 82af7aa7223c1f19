//! Overlays of OpenAPI documents: whatever one does to a document, what is left of it is read or refused with a reason.

use redress_import::{Overlay, ReadOptions, openapi};

use super::openapi::judge;
use crate::work::bounded;

const DOCUMENT: &[u8] = br##"{"openapi": "3.1.0", "info": {"title": "Shop", "version": "1"}, "tags": [{"name": "a"}], "paths": {
    "/orders": {"get": {"operationId": "listOrders", "tags": ["orders"], "responses": {"200": {"description": "ok"}}}},
    "/orders/{id}": {"get": {"operationId": "getOrder", "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}],
        "responses": {"200": {"description": "ok", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Order"}}}},
            "404": {"description": "There is none."}}}}},
    "components": {"schemas": {"Order": {"type": "object", "properties": {"id": {"type": "string"}}}}}}"##;

pub(super) fn target(data: &[u8]) {
    let Ok(overlay) = bounded(|| Overlay::parse(data)) else { return };
    let options = ReadOptions { overlays: vec![overlay], ..ReadOptions::default() };
    match bounded(|| openapi::read(DOCUMENT, &options)) {
        Ok(import) => judge(&import),
        Err(refused) => assert!(!refused.to_string().is_empty()),
    }
}
