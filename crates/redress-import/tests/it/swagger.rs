//! Documents of 2.0.

use redress_import::{Place, SecurityScheme, Serialization, Style, openapi};
use serde_json::json;

use crate::documents::{operation, read};

const SHOP: &str = r##"
swagger: '2.0'
info: {title: Shop, version: '1'}
host: shop.test
basePath: /v1
schemes: [http, https]
consumes: [application/json]
produces: [application/json, application/xml]
securityDefinitions:
  password: {type: basic}
  oauth: {type: oauth2, flow: accessCode, authorizationUrl: https://a.test/a, tokenUrl: https://a.test/t, scopes: {read: Read.}}
parameters:
  limit: {name: limit, in: query, type: integer, format: int32, maximum: 100}
  order: {name: order, in: body, required: true, schema: {$ref: '#/definitions/Order'}}
responses:
  Missing: {description: There is none., schema: {$ref: '#/definitions/Error'}}
definitions:
  Order: {type: object, required: [item], properties: {item: {type: string}, note: {type: string, x-nullable: true}}}
  Error: {type: object, properties: {code: {type: string, enum: [gone, lost]}}}
paths:
  /orders:
    get:
      operationId: listOrders
      tags: [orders]
      parameters:
        - {$ref: '#/parameters/limit'}
        - {name: tag, in: query, type: array, items: {type: string}, collectionFormat: multi}
        - {name: state, in: query, type: array, items: {type: string}}
      responses: {200: {description: ok, schema: {type: array, items: {$ref: '#/definitions/Order'}}, headers: {X-Total: {type: integer}}}}
    post:
      operationId: placeOrder
      tags: [orders]
      parameters: [{$ref: '#/parameters/order'}]
      responses: {201: {description: made}, 404: {$ref: '#/responses/Missing'}}
  /orders/{id}/picture:
    parameters: [{name: id, in: path, required: true, type: string}]
    put:
      operationId: putPicture
      tags: [orders]
      parameters:
        - {name: picture, in: formData, type: file, required: true}
        - {name: caption, in: formData, type: string}
      responses: {204: {description: done}}
"##;

#[test]
fn a_document_of_the_second_generation_is_read_like_one_of_the_third() {
    let import = read(SHOP);
    assert!(import.warnings.is_empty() && import.skipped.is_empty(), "{:?}", import.warnings);
    assert_eq!(import.openapi, "2.0");
    assert_eq!(
        import.servers.iter().map(|server| server.url.as_str()).collect::<Vec<_>>(),
        ["https://shop.test/v1", "http://shop.test/v1"]
    );
    assert!(
        matches!(&import.security_schemes[..], [SecurityScheme::Basic { .. }, SecurityScheme::Oauth2 { flows, .. }]
        if flows["authorizationCode"].token_url.as_deref() == Some("https://a.test/t"))
    );
    let list = operation(&import, "orders.list_orders");
    let how: Vec<(&str, &Serialization)> =
        list.request.fields.iter().map(|field| (field.field.as_str(), &field.serialization)).collect();
    let style = |explode| Serialization::Style { style: Style::Form, explode, allow_reserved: false };
    assert_eq!(how, [("limit", &style(true)), ("tag", &style(true)), ("state", &style(false))]);
    assert_eq!(list.operation.input().property("limit"), Some(&json!({"type": "integer", "maximum": 100})));
    assert_eq!(list.operation.output().as_value()["items"]["properties"]["note"]["type"], json!(["string", "null"]));
    assert_eq!(list.request.narrowing, ["limit"]);
    assert_eq!(list.responses[0].headers, ["x-total"]);
    let place = operation(&import, "orders.place_order");
    assert_eq!(
        place.request.fields.iter().map(|field| (field.place, field.required)).collect::<Vec<_>>(),
        [(Place::BodyMember, true), (Place::BodyMember, false)]
    );
    let missing = place.operation.failure("HTTP_404").unwrap();
    assert_eq!(missing.details().property("reason").unwrap()["examples"], json!(["gone", "lost"]));
    assert_eq!(place.response(404).unwrap().reasons, ["/code"]);
    let picture = operation(&import, "orders.put_picture");
    assert_eq!(picture.request.body.as_ref().unwrap().media_type, "multipart/form-data");
    assert_eq!(picture.request.fields.len(), 3);
}

#[test]
fn it_is_written_as_one_of_the_third() {
    let import = read(SHOP);
    let written = openapi::to_openapi(&import);
    let value = written.to_value();
    assert_eq!(value["openapi"], "3.0.3");
    assert!(!value.to_string().contains("#/definitions/"));
    let again = read(written.to_json());
    let named =
        |import: &redress_import::Import| import.operations.iter().map(|one| one.operation.clone()).collect::<Vec<_>>();
    assert_eq!(named(&again), named(&import));
}
