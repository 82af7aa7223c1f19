"""What schemathesis cannot know of this service: checks that take the place of each exception."""

import json

import schemathesis
from schemathesis.core.parameters import ParameterLocation


@schemathesis.check
def declared_unavailability(ctx, response, case):
    """503 and 504 are answers only where the document, or the caller's own deadline, says so."""
    if response.status_code not in (503, 504):
        return
    problem = response.json()
    problem = problem.get("error", {}).get("data", problem) if "jsonrpc" in problem else problem
    if response.status_code == 504:
        assert problem["code"] == "TIMEOUT", f"504 with {problem['code']}"
        assert asked_deadline(case) is not None, "504, and the caller set no deadline"
        assert asked_deadline(case) < 2000, "504 long before the deadline that the caller set"
        return
    paths = case.operation.schema.raw_schema["paths"]
    own = case.operation.path
    # A generic message may name any operation; the path of one has its failures beside its `POST`.
    asked = [paths[own]] if own.startswith("/ops/") else paths.values()
    failures = [failure for item in asked for failure in item.get("post", {}).get("x-redress-failures", [])]
    codes = {failure["code"] for failure in failures if failure["http"] == 503}
    assert problem["code"] in codes, f"503 with {problem['code']}, which is not declared"


@schemathesis.check
def refusal_in_its_place(ctx, response, case):
    """A message of several parts that breaks its schema has a refusal among its answers."""
    path = case.operation.path
    if path not in ("/batch", "/rpc") or response.status_code != 200 or case.meta is None:
        return
    body = case.meta.components.get(ParameterLocation.BODY)
    if body is None or not body.mode.is_negative:
        return
    answers = response.json()
    answers = answers if isinstance(answers, list) else [answers]
    assert any("error" in answer for answer in answers), f"accepted: {json.dumps(answers)[:500]}"


@schemathesis.check
def refusal_by_the_operation(ctx, response, case):
    """A generic message that fits its schema is refused only by the operation that it names."""
    if case.operation.path not in ("/call", "/subscribe") or response.status_code not in (400, 405):
        return
    if case.meta is None or case.meta.generation.mode.is_negative:
        return
    told = response.json()
    code = told["code"]
    # Whether a key is taken is for the operation to say, and no schema of the generic message can.
    if (told.get("details") or {}).get("idempotency_key") == "not taken":
        return
    assert code in ("INVALID_INPUT", "INVALID_OPERATION_TYPE"), f"the message itself was refused: {code}"


def asked_deadline(case):
    """The deadline that a call asked for, in milliseconds."""
    for name, value in (case.headers or {}).items():
        if name.lower() == "redress-deadline-ms" and str(value).isdigit():
            return int(value)
    return None


@schemathesis.hook
def filter_case(ctx, case):
    """Leaves out the one mutation that HTTP itself forbids to refuse: a header that nobody knows
    (RFC 9110, 5.1). Schemathesis means to overlook it, and does not beside a header of digits."""
    data = getattr(case.meta and case.meta.phase, "data", None)
    description = (getattr(data, "description", None) or "").lower()
    location = getattr(data, "parameter_location", None)
    return not (location == ParameterLocation.HEADER and description == "object with unexpected properties")
