"""A service with a document of its own that answers as real ones do when something is wrong. Says its address on the
first line: `misbehaving.py DOCUMENT` also writes the document, with that address in it."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ITEM = {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}, "name": {"type": "string"}}}
PROBLEM = {
    "type": "object",
    "required": ["error"],
    "properties": {"error": {"type": "string"}, "hint": {"type": "string"}},
}


def json_content(schema):
    return {"application/json": {"schema": schema}}


def get(name, summary, schema, *declared, parameters=()):
    responses = {"200": {"description": "It is there.", "content": json_content(schema)}}
    for status, said in declared:
        responses[status] = {"description": said, "content": json_content(PROBLEM)}
    return {"operationId": name, "summary": summary, "parameters": list(parameters), "responses": responses}


LIMIT = {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 1000}}
ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
PATHS = {
    "/items/{id}": get("getItem", "Get an item.", ITEM, ("404", "There is no such item."), parameters=[ID]),
    "/items": get("listItems", "List items.", {"type": "array", "items": ITEM}, parameters=[LIMIT]),
    "/busy": get("askBusy", "Ask when it is busy.", ITEM, ("429", "Too many requests.")),
    "/teapot": get("askTeapot", "Ask a teapot.", ITEM),
    "/page": get("askPage", "Ask what needs a login.", ITEM),
    "/said-no": get("askNo", "Ask what says no.", {"type": "object", "properties": {"ok": {"type": "boolean"}}}),
}

ANSWERS = {
    "/items/9": (404, "application/json", {}, '{"error": "item_missing", "hint": "deleted on 3 May"}'),
    "/busy": (429, "application/json", {"Retry-After": "7"}, '{"error": "quota", "hint": "the plan allows 10 a minute"}'),
    "/teapot": (418, "application/json", {}, '{"error": "short_and_stout"}'),
    "/page": (200, "text/html", {}, "<!doctype html><title>Sign in</title><p>Please sign in to go on.</p>"),
    "/said-no": (200, "application/json", {}, '{"ok": false, "error": "channel_not_found"}'),
}


class Service(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = self.path.split("?")[0]
        if path == "/items":
            rows = [{"id": f"i-{n}", "name": "x" * 200} for n in range(10_000)]
            status, media, headers, body = 200, "application/json", {}, json.dumps(rows)
        else:
            status, media, headers, body = ANSWERS.get(path, (404, "application/json", {}, '{"error": "no_route"}'))
        body = body.encode()
        self.send_response(status)
        for name, value in {"Content-Type": media, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
url = "http://%s:%d" % server.server_address
document = {
    "openapi": "3.1.0",
    "info": {"title": "Items", "version": "1"},
    "servers": [{"url": url}],
    "paths": {path: {"get": operation} for path, operation in PATHS.items()},
}
with open(sys.argv[1], "w") as file:
    json.dump(document, file)
print(url, flush=True)
server.serve_forever()
