"""Bodies of forms into text fields, with bounds on their size, their number, and the work they make.

twisted.web would do it before anybody has asked, in the reactor's thread, with the parser for mail: one mebibyte of
nested parts keeps that busy for a quarter of a minute. So it is told to leave bodies alone (``site.py``).
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple
from urllib.parse import parse_qsl

from multipart import MultipartError, MultipartSegment, PushMultipartParser

from ctfd_twisted.errors import Invalid, TooLarge

#: So many fields are read.
FIELDS: Final = 1000
#: Bytes of text in all fields together; files do not count.
TEXT: Final = 1024 * 1024

_URLENCODED: Final = b"application/x-www-form-urlencoded"
_MULTIPART: Final = b"multipart/form-data"
_BOUNDARY: Final = re.compile(rb';\s*boundary=(?:"([^"]{1,70})"|([^\s";,]{1,70}))', re.IGNORECASE)


def read_form(content_type: bytes, body: bytes) -> dict[str, str]:
    """The fields of a form, the last value of each (a tick box follows its hidden twin); files are left out.

    Another kind of body has none. Raises ``Invalid`` where the form is broken or has more than :data:`FIELDS` fields,
    ``TooLarge`` where they hold more than :data:`TEXT` bytes.
    """
    if _kind(content_type) == _URLENCODED:
        return _urlencoded(body)
    if is_multipart(content_type):
        return _multipart(content_type, body)
    return {}


def _urlencoded(body: bytes) -> dict[str, str]:
    if len(body) > TEXT:
        raise TooLarge(TEXT)
    try:
        return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=FIELDS))
    except ValueError:
        raise unreadable(f"it has more than {FIELDS} fields") from None


def _multipart(content_type: bytes, body: bytes) -> dict[str, str]:
    boundary = boundary_of(content_type)
    fields: dict[str, str] = {}
    part: MultipartSegment | None = None
    text, length = bytearray(), 0
    try:
        with PushMultipartParser(boundary, max_segment_count=FIELDS) as parser:
            for event in parser.parse(body):
                if isinstance(event, MultipartSegment):
                    part, text = event, bytearray()
                elif part is None or not part.name or part.filename is not None:
                    continue
                elif event is None:
                    fields[part.name] = text.decode("utf-8", "replace")
                else:
                    length += len(event)
                    if length > TEXT:
                        raise TooLarge(TEXT)
                    text += event
    except MultipartError as error:
        raise unreadable(str(error.args[0])) from None
    return fields


class SentFile(NamedTuple):
    """A file that came with a form: the name that its sender gives it, and its bytes."""

    filename: str
    content: bytes


def form_files(content_type: bytes, body: bytes) -> dict[str, SentFile]:
    """The files of a form, the last of each field; where none was chosen, browsers send one without a name.

    Raises ``Invalid`` where the form is broken. Uploads that may be large go another way (``files/upload_api.py``).
    """
    if not is_multipart(content_type):
        return {}
    files: dict[str, SentFile] = {}
    part: MultipartSegment | None = None
    content = bytearray()
    try:
        with PushMultipartParser(boundary_of(content_type), max_segment_count=FIELDS) as parser:
            for event in parser.parse(body):
                if isinstance(event, MultipartSegment):
                    part, content = event, bytearray()
                elif part is None or not part.name or not part.filename:
                    continue
                elif event is None:
                    files[part.name] = SentFile(part.filename, bytes(content))
                else:
                    content += event
    except MultipartError as error:
        raise unreadable(str(error.args[0])) from None
    return files


def is_multipart(content_type: bytes | None) -> bool:
    """Whether a body of this type may hold files."""
    return _kind(content_type or b"") == _MULTIPART


def _kind(content_type: bytes) -> bytes:
    return content_type.split(b";", 1)[0].strip().lower()


def boundary_of(content_type: bytes) -> bytes:
    """What stands between the parts of a ``multipart/form-data`` body; raises ``Invalid`` where it is not said."""
    boundary = _BOUNDARY.search(content_type)
    if boundary is None:
        raise unreadable("its type names no boundary")
    found: bytes = boundary[1] or boundary[2]
    return found


def unreadable(why: str) -> Invalid:
    """What is answered to a form that is broken."""
    return Invalid({"": [f"The form can't be read: {why.rstrip('.')}."]})
