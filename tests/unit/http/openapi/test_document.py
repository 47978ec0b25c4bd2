from typing import Annotated, Any, TypedDict

import jsonschema_rs
import pytest
from msgspec import Meta, Struct
from openapi_spec_validator import OpenAPIV2SpecValidator, OpenAPIV31SpecValidator

from ctfd_twisted.http.answers import JSON
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.described import Body, Described, Reads, invalid
from ctfd_twisted.http.gates import ADMIN, ANYONE, SCORES_VISIBLE, TEAMS_MODE
from ctfd_twisted.http.openapi.document import make_document
from ctfd_twisted.http.openapi.swagger import swagger
from ctfd_twisted.http.pagination import AskedPages, Paged
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.shapes import with_more


class ThingShown(TypedDict):
    """A thing."""

    id: int
    name: str | None


@with_more
class OpenThing(ThingShown):
    """A thing with what its kind adds."""

    extra: int


class Detail(Struct, frozen=True):
    thing: ThingShown
    notes: tuple[str, ...] = ()


class ThingFields(Struct):
    name: str
    count: int | None = None


class Upload(Struct):
    type: str = "standard"


def OWN(call: Call) -> None:  # noqa: N802
    """Friends of the house pass."""


class Things:
    """``/api/v1/things``."""

    routes = Routes()

    @routes.get("/api/v1/things", SCORES_VISIBLE, query=AskedPages, data=list[ThingShown], meta=Paged)
    def all(self) -> None:
        """Things in pages; newest first."""

    @routes.post("/api/v1/things", ADMIN, body=ThingFields, data=ThingShown, limit=(5, 60))
    def make(self) -> None:
        """Make a thing.

        It is kept.
        """

    @routes.get("/api/v1/things/<int:thing_id>/parts/<name>", OWN, data=Detail)
    def part(self) -> None:
        """One part."""

    @routes.patch("/api/v1/things/<thing_id>", TEAMS_MODE, ADMIN, body=Body(ThingFields, optional=True), data=OpenThing)
    def change(self) -> None:
        """Change a thing."""

    @routes.post("/api/v1/things/files", ADMIN, body=Body(Upload, files="file"), data=None, also=(invalid("No file."),))
    def upload(self) -> None:
        """Upload files."""

    @routes.get(
        "/api/v1/things/pictures",
        ANYONE,
        always=True,
        also=(Described(200, "image/png", None, "A picture."), Described(304, "", None, "The same.")),
    )
    def pictures(self) -> None:
        """A picture."""

    @routes.get("/api/v1/undescribed", ANYONE)
    def undescribed(self) -> None:
        """Not told."""

    @routes.get("/things", ANYONE, data=None)
    def page(self) -> None:
        """No part of the API."""


@pytest.fixture
def document() -> dict[str, Any]:
    return make_document(Things.routes.of(Things()), malformed_status=500, root="/ctf")


def schema_of(document: dict[str, Any], path: str, method: str, status: str = "200") -> dict[str, Any]:
    response = document["paths"][path][method]["responses"][status]
    if "$ref" in response:
        response = document["components"]["responses"][response["$ref"].rpartition("/")[2]]
    return {**response["content"][JSON]["schema"], "components": document["components"]}


def test_it_is_valid_in_both_versions(document: dict[str, Any]) -> None:
    assert not list(OpenAPIV31SpecValidator(document).iter_errors())
    assert not list(OpenAPIV2SpecValidator(swagger(document)).iter_errors())


def test_the_api_is_told_and_nothing_else(document: dict[str, Any]) -> None:
    assert document["servers"] == [{"url": "/ctf/api/v1"}]
    assert sorted(document["paths"]) == [
        "/things",
        "/things/files",
        "/things/pictures",
        "/things/{thing_id}",
        "/things/{thing_id}/parts/{name}",
    ]


def test_docstrings_tell_what_an_operation_does_and_gates_for_whom(document: dict[str, Any]) -> None:
    listed, made = document["paths"]["/things"]["get"], document["paths"]["/things"]["post"]
    assert listed["summary"] == "Things in pages"
    assert listed["description"] == "Newest first.\n\nFor those to whom scores are visible."
    assert made["description"] == "It is kept.\n\nFor administrators. At most 5 requests in 60 seconds."
    assert made["operationId"] == "post_things"
    part = document["paths"]["/things/{thing_id}/parts/{name}"]["get"]
    assert (part["operationId"], part["description"]) == (
        "get_things_by_thing_id_parts_by_name",
        "Friends of the house pass.",
    )


def test_answers_are_closed_unless_they_say_otherwise(document: dict[str, Any]) -> None:
    def admits(path: str, method: str, data: object, **beside: object) -> bool:
        schema = schema_of(document, path, method)
        return jsonschema_rs.is_valid(schema, {"success": True, "data": data, **beside})

    thing = {"id": 1, "name": None}
    pages = {"page": 1, "next": None, "prev": None, "pages": 1, "per_page": 20, "total": 1}
    assert admits("/things", "get", [thing], meta={"pagination": pages})
    assert not admits("/things", "get", [thing])
    assert not admits("/things", "get", [{**thing, "more": 1}], meta={"pagination": pages})
    assert not admits("/things", "post", {"id": 1})
    assert admits("/things/{thing_id}", "patch", {**thing, "extra": 1, "more": 1})
    assert admits("/things/{thing_id}/parts/{name}", "get", {"thing": thing, "notes": []})
    assert not admits("/things/{thing_id}/parts/{name}", "get", {"thing": thing})
    assert jsonschema_rs.is_valid(schema_of(document, "/things/files", "post"), {"success": True})
    assert not admits("/things/files", "post", None)


def statuses(document: dict[str, Any], path: str, method: str) -> set[str]:
    return set(document["paths"][path][method]["responses"])


def test_refusals_are_those_that_a_route_can_give(document: dict[str, Any]) -> None:
    common = {"302", "400", "401", "403", "500", "503"}
    assert statuses(document, "/things", "get") == {"200", "404", *common}
    assert statuses(document, "/things", "post") == {"200", "413", "429", *common}
    assert statuses(document, "/things/{thing_id}/parts/{name}", "get") == {"200", "404", *common}
    assert statuses(document, "/things/pictures", "get") == {"200", "304", "400", "503"}


def test_a_malformed_body_has_the_status_that_the_deployment_gives_it() -> None:
    told = {"success": False, "message": "Internal Server Error", "errors": {"": ["No."]}}
    for status, other in ((500, 400), (400, 500)):
        document = make_document(Things.routes.of(Things()), malformed_status=status)
        assert jsonschema_rs.is_valid(schema_of(document, "/things", "post", str(status)), told)
        assert not jsonschema_rs.is_valid(schema_of(document, "/things", "post", str(other)), told)


def test_a_token_or_a_session_is_asked_for_and_a_nonce_where_something_changes(document: dict[str, Any]) -> None:
    def security(path: str, method: str) -> Any:
        return document["paths"][path][method]["security"]

    assert security("/things", "get") == [{"accessToken": []}, {"session": []}, {}]
    assert security("/things", "post") == [{"accessToken": []}, {"session": [], "nonce": []}]
    assert security("/things/pictures", "get") == []


def test_parameters_are_as_the_router_takes_them(document: dict[str, Any]) -> None:
    number, name = document["paths"]["/things/{thing_id}/parts/{name}"]["get"]["parameters"]
    assert number["schema"] == {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}
    assert name["schema"] == {"type": "string", "minLength": 1}
    assert [one["name"] for one in document["paths"]["/things"]["get"]["parameters"]] == ["page", "per_page"]


def test_bodies_come_as_json_or_as_the_form_that_is_read(document: dict[str, Any]) -> None:
    made = document["paths"]["/things"]["post"]["requestBody"]
    changed = document["paths"]["/things/{thing_id}"]["patch"]["requestBody"]
    uploaded = document["paths"]["/things/files"]["post"]["requestBody"]
    assert list(made["content"]) == [JSON, "application/x-www-form-urlencoded", "multipart/form-data"]
    assert (made["required"], changed["required"]) == (True, False)
    assert list(changed["content"]) == [JSON]
    assert list(uploaded["content"]) == ["multipart/form-data"]
    assert "file" in uploaded["content"]["multipart/form-data"]["schema"]["properties"]


def test_the_old_version_leaves_open_what_it_has_no_words_for(document: dict[str, Any]) -> None:
    old = swagger(document)
    assert old["basePath"] == "/ctf/api/v1"
    assert old["definitions"]["ThingShown"]["properties"]["name"] == {"type": "string", "x-nullable": True}
    assert "type" not in old["definitions"]["SentInteger"]
    (body,) = old["paths"]["/things"]["post"]["parameters"]
    assert body["schema"] == {"$ref": "#/definitions/ThingFields"}
    files = old["paths"]["/things/files"]["post"]
    assert files["consumes"] == ["multipart/form-data"]
    assert [(one["name"], one["type"]) for one in files["parameters"]] == [("type", "string"), ("file", "file")]


def clash() -> type:
    class ThingShown(Struct):
        other: Annotated[int, Meta(ge=0)]

    return ThingShown


class Clashing:
    routes = Routes()

    @routes.get("/api/v1/clash", ANYONE, data=list[ThingShown])
    def one(self) -> None:
        """One."""

    @routes.post("/api/v1/clash", ANYONE, body=clash(), data=None)
    def other(self) -> None:
        """Other."""


def test_two_types_of_one_name_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="ThingShown"):
        make_document(Clashing.routes.of(Clashing()), malformed_status=500)


def test_a_described_route_knows_all_that_it_reads() -> None:
    reads = {(route.method, route.path): route.reads for route in Things.routes}
    assert reads["POST", "/api/v1/things/files"] == Reads(frozenset({Upload}), body=True)
    assert reads["GET", "/api/v1/things"] == Reads(frozenset({AskedPages}), body=False)
    assert reads["GET", "/api/v1/undescribed"] is None
