import re

from openapi_spec_validator import validate

from ctfd_twisted.testing import MemoryPlatform


def test_the_document_is_valid_and_has_every_operation_once(platform: MemoryPlatform) -> None:
    answer = platform.client().get("/api/v1/openapi.json")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    validate(answer.json)
    names = [one["operationId"] for path in answer.json["paths"].values() for one in path.values()]
    assert len(names) == len(set(names))
    assert {"get_flags", "get_openapi_json", "get_docs"} <= set(names)


def test_old_tools_get_the_same_in_their_words(platform: MemoryPlatform) -> None:
    answer = platform.client().get("/api/v1/swagger.json")
    validate(answer.json)
    assert answer.json["swagger"] == "2.0"
    assert list(answer.json["paths"]) == list(platform.client().get("/api/v1/openapi.json").json["paths"])


def test_the_documents_are_there_before_the_competition_and_for_the_banned() -> None:
    platform = MemoryPlatform()
    try:
        assert platform.client().get("/api/v1/openapi.json").status == 200
        platform.setup()
        banned = platform.player("mallory", banned=True)
        assert banned.get("/api/v1/swagger.json").status == 200
    finally:
        platform.close()


def test_who_has_the_document_is_not_sent_it_again(platform: MemoryPlatform) -> None:
    browser = platform.client()
    tag = browser.get("/api/v1/openapi.json").headers["etag"]
    again = browser.get("/api/v1/openapi.json", headers={"If-None-Match": tag})
    assert (again.status, again.body) == (304, b"")


def test_below_another_root_paths_begin_there() -> None:
    platform = MemoryPlatform(application_root="/ctf")
    try:
        document = platform.client().get("/api/v1/openapi.json").json
    finally:
        platform.close()
    assert document["servers"] == [{"url": "/ctf/api/v1"}]


def test_the_page_shows_every_operation_and_needs_nothing_from_elsewhere(platform: MemoryPlatform) -> None:
    browser = platform.client()
    page = browser.get("/api/v1/docs")
    document = browser.get("/api/v1/openapi.json").json
    assert page.status == 200
    for path in document["paths"].values():
        for operation in path.values():
            assert f'<details id="{operation["operationId"]}">' in page.text
    for name in document["components"]["schemas"]:
        assert f'id="{name}"' in page.text
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', page.text)
    assert "style=" not in page.text
    names = set(re.findall(r' id="([^"]+)"', page.text))
    assert set(re.findall(r'href="#([^"]+)"', page.text)) <= names


def test_the_api_itself_is_still_no_page(platform: MemoryPlatform) -> None:
    assert platform.client().get("/api/v1/").status == 404
