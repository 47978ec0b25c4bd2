from typing import Any

import pytest

from ctfd_twisted.web.api_outline import words


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({}, "anything"),
        ({"type": "null"}, "null"),
        ({"type": "integer", "minimum": -(2**31), "maximum": 2**31 - 1}, "integer"),
        ({"type": "integer", "minimum": 0, "maximum": 2**31 - 1}, "integer from 0"),
        ({"type": "integer", "minimum": 1, "maximum": 5}, "integer from 1 to 5"),
        ({"type": "string", "maxLength": 80}, "text, at most 80 characters"),
        ({"type": "string", "format": "date-time"}, "text, an instant"),
        ({"type": ["number", "string"]}, "number or text"),
        ({"enum": ["a", True]}, "<code>&#34;a&#34;</code> or <code>true</code>"),
        ({"anyOf": [{"type": "boolean"}, {"type": "null"}]}, "true or false or null"),
        ({"type": "array", "items": {"$ref": "#/components/schemas/Flag"}}, 'list of <a href="#Flag">Flag</a>'),
        ({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}, "[text, integer]"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "object of integer"),
        ({"type": "object", "additionalProperties": True}, "object"),
        (
            {"type": "object", "properties": {"success": {"const": True}}},
            "{ <code>success</code>: <code>true</code> }",
        ),
        (
            {"allOf": [{"$ref": "#/components/schemas/A"}], "properties": {"file": {"type": "string"}}},
            '<a href="#A">A</a> and { <code>file</code>: text }',
        ),
    ],
)
def test_types_are_told_in_words(schema: dict[str, Any], text: str) -> None:
    assert words(schema) == text
