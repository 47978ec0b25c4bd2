"""Text of administrators and comments as HTML: CommonMark, the competition's placeholders, and an allow-list. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from html import escape
from typing import Final

import nh3

from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.web.commonmark import html_of


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BASE_TAGS: Final = _words("""
    a abbr acronym area article aside b bdi bdo blockquote br caption center cite code col colgroup data dd del details
    dfn div dl dt em figcaption figure footer h1 h2 h3 h4 h5 h6 header hgroup hr i img ins kbd li map mark nav ol p pre
    q rp rt rtc ruby s samp small span strike strong sub summary sup table tbody td th thead time tr tt u ul var wbr
""")
_ADDED_TAGS: Final = _words("""
    title section meta form button input select option textarea label blink marquee audio video source iframe
""")
_ON_ALL: Final = _words("""
    abbr accept accept-charset accesskey action align alt axis border cellpadding cellspacing char charoff charset
    checked cite class clear cols colspan color compact coords datetime dir disabled enctype for frame headers height
    href hreflang hspace id ismap label lang longdesc maxlength media method multiple name nohref noshade nowrap prompt
    readonly rev rows rowspan rules scope selected shape size span src start style summary tabindex target title type
    usemap valign value vspace width
""")
_MEDIA: Final = {"autoplay", "controls", "crossorigin", "loop", "muted", "preload", "src"}
_ATTRIBUTES: Final[Mapping[str, set[str]]] = {
    "*": set(_ON_ALL),
    "a": {"href", "hreflang"},
    "meta": {"name", "content", "property"},
    "form": {"method", "action"},
    "button": {"name", "type", "value", "disabled"},
    "input": {"name", "type", "value", "placeholder"},
    "select": {"name", "value", "placeholder"},
    "textarea": {"name", "value", "placeholder"},
    "option": {"value"},
    "label": {"for"},
    "audio": _MEDIA,
    "video": _MEDIA | {"buffered", "playsinline", "poster"},
    "source": {"src", "type"},
    "iframe": {"width", "height", "src", "frameborder", "allow", "allowfullscreen"},
}
# Where a picture or a sound is loaded, a data: address can't run anything.
_PASSIVE: Final = frozenset(
    {("img", "src"), ("audio", "src"), ("video", "src"), ("source", "src"), ("video", "poster")}
)
_BLANKS: Final = re.compile(r"[\x00-\x20]")


def _without_active_data(tag: str, attribute: str, value: str) -> str | None:
    """*value*, or None for a ``data:`` address in a frame, a form or a link: a page of its own, written by anyone."""
    if (tag, attribute) not in _PASSIVE and _BLANKS.sub("", value).lower().startswith("data:"):
        return None
    return value


_CLEANER: Final = nh3.Cleaner(
    tags=set(_BASE_TAGS | _ADDED_TAGS),
    attributes=dict(_ATTRIBUTES),
    attribute_filter=_without_active_data,
    clean_content_tags={"script", "style"},
    strip_comments=False,
    link_rel="noopener noreferrer nofollow",
    generic_attribute_prefixes={"data-", "aria-"},
    url_schemes={"http", "https", "mailto", "tel", "data"},
)

_PLACEHOLDER: Final = re.compile(r"\{\{\s*(\w+)\s*\}\}|\{(\w+)\}")


def sanitized(html: str) -> str:
    """*html* with only what the allow-list knows; everything that could run is gone."""
    return _CLEANER.clean(html)


def placeholders(competition: Competition) -> dict[str, str]:
    """What stands for each placeholder, escaped for HTML: times in ISO 8601 with ``Z``, empty where unset."""
    return {
        "ctf_name": escape(competition.name),
        "ctf_description": escape(competition.text("ctf_description")),
        "ctf_start": _instant(competition.start),
        "ctf_end": _instant(competition.end),
        "ctf_freeze": _instant(competition.freeze),
    }


def filled(html: str, competition: Competition) -> str:
    """*html* with ``{ctf_name}`` and its like, in single or double braces, replaced; unknown names stay as they are."""
    if "{" not in html:
        return html
    values = placeholders(competition)
    return _PLACEHOLDER.sub(lambda match: values.get(match[1] or match[2], match[0]), html)


def rendered(source: str | None, competition: Competition) -> str:
    """The HTML of administrators' Markdown: sanitised only where the competition asks for it. Ends with a newline."""
    html = filled(html_of(source or ""), competition)
    return sanitized(html) if competition.truthy("html_sanitization") else html


def rendered_comment(source: str | None, competition: Competition) -> str:
    """The HTML of a comment's Markdown: always sanitised."""
    return sanitized(filled(html_of(source or ""), competition))


def rendered_html(source: str | None, competition: Competition) -> str:
    """A page that was written in HTML: the placeholders and, where the competition asks for it, the allow-list."""
    html = filled(source or "", competition)
    return sanitized(html) if competition.truthy("html_sanitization") else html


def _instant(epoch: int | None) -> str:
    return datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if epoch else ""
