"""The settings that a kind of challenge has of its own, described well enough to draw a form from them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Literal

import msgspec

Kind = Literal["text", "multiline", "url", "secret", "integer", "number", "boolean", "choice"]

_INPUT_TYPES = {"text": "text", "url": "url", "secret": "password", "integer": "number", "number": "number"}


class FormField(msgspec.Struct, frozen=True):
    """One setting: the key of the JSON body, and how to ask a person for it.

    ``kind`` tells the control and the JSON type that is sent: a string for the first four kinds and for ``choice`` (one
    of ``choices``), an integer, any number, or true and false. ``help`` says unit and limits in a phrase.
    """

    name: str
    label: str
    kind: Kind = "text"
    required: bool = False
    default: str | int | float | bool | None = None
    choices: tuple[str, ...] = ()
    help: str = ""


def form_html(fields: Iterable[FormField]) -> str:
    """HTML of the controls for *fields*, one labelled paragraph each, without the form around them."""
    return "\n".join(_paragraph(field) for field in fields)


def _paragraph(field: FormField) -> str:
    note = f" <small>{escape(field.help)}</small>" if field.help else ""
    return f"<p><label>{escape(field.label)} {_control(field)}</label>{note}</p>"


def _control(field: FormField) -> str:
    name = f'name="{escape(field.name)}"' + (" required" if field.required else "")
    default = "" if field.default is None else escape(str(field.default))
    match field.kind:
        case "multiline":
            return f"<textarea {name}>{default}</textarea>"
        case "boolean":
            return f'<input type="checkbox" {name} value="true"{" checked" if field.default else ""}>'
        case "choice":
            options = "".join(
                f"<option{' selected' if choice == field.default else ''}>{escape(choice)}</option>"
                for choice in field.choices
            )
            return f"<select {name}>{options}</select>"
        case kind:
            step = ' step="any"' if kind == "number" else ""
            return f'<input type="{_INPUT_TYPES[kind]}" {name} value="{default}"{step}>'
