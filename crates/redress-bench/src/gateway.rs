//! `gateway`: a call through the gateway, checked and mapped, beside a plain reverse proxy of hyper.

use std::io;

use redress::Registry;
use redress_import::{ReadOptions, openapi};
use redress_upstream::{Upstream, UpstreamConfig};

use crate::{
    client::post,
    ours,
    process::Program,
    table::{self, Row},
};

const ACCEPT: &str = "accept: application/json\r\n";
const ORDER: &str = r#"{"item":"Earl Grey tea","quantity":2,"note":"leave it at the door","gift":false}"#;

/// What the service says of itself: everything that is sent and answered here is in it.
const DOCUMENT: &str = r#"
openapi: 3.1.0
info: {title: Shop, version: "1"}
paths:
  /orders:
    post:
      operationId: placeOrder
      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/NewOrder'}}}}
      responses:
        200: {description: The order., content: {application/json: {schema: {$ref: '#/components/schemas/Order'}}}}
        404: {description: There is no such item., content: {application/json: {schema: {$ref: '#/components/schemas/Problem'}}}}
  /refused:
    post:
      operationId: refuseOrder
      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/NewOrder'}}}}
      responses:
        200: {description: The order., content: {application/json: {schema: {$ref: '#/components/schemas/Order'}}}}
        404: {description: There is no such item., content: {application/json: {schema: {$ref: '#/components/schemas/Problem'}}}}
components:
  schemas:
    NewOrder:
      type: object
      required: [item, quantity]
      properties:
        item: {type: string, minLength: 1, maxLength: 200}
        quantity: {type: integer, minimum: 1, maximum: 100}
        note: {type: string, maxLength: 500}
        gift: {type: boolean}
    Order:
      type: object
      required: [id, item, quantity, status]
      properties:
        id: {type: string}
        item: {type: string}
        quantity: {type: integer}
        status: {type: string, enum: [open, paid, sent]}
        placed_at: {type: string, format: date-time}
        total: {type: object, required: [amount], properties: {amount: {type: integer}, currency: {type: string}}}
    Problem:
      type: object
      required: [error]
      properties:
        error:
          type: object
          required: [code, message]
          properties: {code: {type: string}, message: {type: string}, item: {type: string}}
        request: {type: string}
"#;

/// Measures every row and prints the table.
pub fn run() -> io::Result<()> {
    let program = |arguments: &[&str]| -> io::Result<Program> {
        let arguments = arguments.iter().map(|one| (*one).to_owned()).collect();
        Ok(Program { path: std::env::current_exe()?, arguments })
    };
    let upstream = program(&["upstream"])?.start()?;
    let address = upstream.address.to_string();
    let (proxy, gateway) = (program(&["proxy", &address])?, program(&["gateway-server", &address])?);
    let row = |what, program: &Program, path: &str, wanted| Row {
        what,
        program: program.clone(),
        request: post(path, ACCEPT, ORDER),
        wanted,
        counted: 1_000,
        timed: 100,
        beside: None,
    };
    let beside = |row: Row, other| Row { beside: Some((other, 1.3)), ..row };
    let (placed, refused) = ((200, r#""id":"o-1001""#, 1), (404, r#""request":"r-77""#, 1));
    table::measure(&[
        row("plain proxy: success", &proxy, "/orders", placed),
        beside(row("redress: success", &gateway, "/ops/orders/place_order", placed), "plain proxy: success"),
        row("plain proxy: 404", &proxy, "/refused", refused),
        beside(
            row("redress: HTTP_404, problem document", &gateway, "/ops/refused/refuse_order", refused),
            "plain proxy: 404",
        ),
    ])
}

/// Serves the operations of the document above, which `upstream` carries out.
pub fn serve(upstream: &str) -> io::Result<()> {
    ours::end_with_input();
    let import = openapi::read(DOCUMENT.as_bytes(), &ReadOptions::default()).map_err(io::Error::other)?;
    let mut config = UpstreamConfig::new("shop");
    config.base_url = Some(format!("http://{upstream}"));
    let shop = Upstream::new(import, config).map_err(io::Error::other)?;
    let builder = shop.operations().into_iter().fold(Registry::builder(), |builder, one| builder.add(one));
    let registry = builder.build().map_err(io::Error::other)?;
    ours::runtime().block_on(ours::serve_all(registry));
    Ok(())
}
