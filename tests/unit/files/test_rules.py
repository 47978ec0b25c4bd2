"""Claims about conditional requests, ranges and names of downloads."""

import pytest

from ctfd_twisted.files.rules import Version, content_type, disposition

VERSION = Version(100, 1_700_000_000_123_456_789)
MODIFIED = "Tue, 14 Nov 2023 22:13:20 GMT"


def test_a_version_is_told_by_time_and_size() -> None:
    assert VERSION.last_modified == MODIFIED
    assert len({VERSION.etag, Version(101, VERSION.modified_ns).etag, Version(100, VERSION.modified_ns + 1).etag}) == 3


@pytest.mark.parametrize(
    ("headers", "held"),
    [
        ({}, False),
        ({"if-none-match": VERSION.etag}, True),
        ({"if-none-match": f'"other", W/{VERSION.etag}'}, True),
        ({"if-none-match": "*"}, True),
        ({"if-none-match": '"other"', "if-modified-since": MODIFIED}, False),
        ({"if-modified-since": MODIFIED}, True),
        ({"if-modified-since": "Tue, 14 Nov 2023 22:13:19 GMT"}, False),
        ({"if-modified-since": "Tue, 14 Nov 2023 22:13:20 -0000"}, False),
        ({"if-modified-since": "yesterday"}, False),
    ],
)
def test_what_a_client_has_already_is_not_sent_again(headers: dict[str, str], *, held: bool) -> None:
    assert VERSION.is_held(headers) is held


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ("bytes=0-9", range(10)),
        ("bytes=90-", range(90, 100)),
        ("bytes = 99-200", range(99, 100)),
        ("bytes=-10", range(90, 100)),
        ("bytes=-1000", range(100)),
        ("bytes=100-", None),
        ("bytes=-0", None),
        ("bytes=9-8", range(100)),
        ("bytes=-", range(100)),
        ("bytes=0-1,3-4", range(100)),
        ("lines=1-2", range(100)),
        ("bytes=" + "9" * 30 + "-", range(100)),
    ],
)
def test_one_range_is_understood(asked: str, wanted: range | None) -> None:
    assert VERSION.wanted({"range": asked}) == wanted


def test_no_range_of_an_empty_file_can_be_given() -> None:
    assert Version(0, 1).wanted({"range": "bytes=0-"}) is None
    assert Version(0, 1).wanted({}) == range(0)


@pytest.mark.parametrize(("condition", "part"), [(VERSION.etag, True), (MODIFIED, True), ('"old"', False)])
def test_a_range_of_another_version_is_not_given(condition: str, *, part: bool) -> None:
    wanted = VERSION.wanted({"range": "bytes=0-9", "if-range": condition})
    assert wanted == (range(10) if part else range(100))


def test_the_type_is_told_by_the_name() -> None:
    names = ("a.png", "a.txt", "a.tar.gz", "a", "a.unheard")
    unknown = "application/octet-stream"
    assert [content_type(name) for name in names] == ["image/png", "text/plain", unknown, unknown, unknown]


def test_every_name_can_be_said() -> None:
    assert disposition("a b.txt") == 'attachment; filename="a b.txt"'
    assert disposition('a"\\.txt') == 'attachment; filename="a\\"\\\\.txt"'
    assert disposition("é\r\nX: y") == "attachment; filename*=UTF-8''%C3%A9%0D%0AX%3A%20y"
