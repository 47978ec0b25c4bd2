"""The languages an account may choose, each by its own name."""

from __future__ import annotations

from typing import Final

LANGUAGE_NAMES: Final[dict[str, str]] = {
    "en": "English",
    "de": "Deutsch",
    "pl": "Polski",
    "es": "Español",
    "ar": "العربية",
    "zh_CN": "简体中文",
    "zh_TW": "繁體中文",
    "fr": "Français",
    "ko": "한국어",
    "ru": "Русский",
    "pt_BR": "Português do Brasil",
    "sk": "Slovenčina",
    "ja": "日本語",
    "it": "Italiano",
    "vi": "Tiếng Việt",
    "ca": "Català",
    "el": "Ελληνικά",
    "fi": "Suomi",
    "ro": "Română",
    "sl": "Slovenščina",
    "sv": "Svenska",
    "he": "עברית",
    "uz": "Oʻzbekcha",  # noqa: RUF001 - the letter the language is written with
    "sr": "Српски",
    "no": "Norsk",
    "hr": "Hrvatski",
    "cs": "Čeština",
    "id": "Bahasa Indonesia",
}
