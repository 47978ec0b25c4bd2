"""How an answer is compared with flags: the two built-in kinds of flag, and the logic over several. Pure."""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

import regex
from zope.interface import implementer

from ctfd_twisted.challenges.judging import (
    CORRECT,
    INCORRECT,
    MORE_FLAGS,
    MORE_MEMBERS,
    Flag,
    Trial,
    UnusableFlag,
    Verdict,
)
from ctfd_twisted.errors import Malformed
from ctfd_twisted.interfaces import IFlagType

_CASE_INSENSITIVE: Final = "case_insensitive"

#: Seconds that one regular expression may search one answer. The expressions people write take microseconds.
TIME_LIMIT: Final = 0.1


def _templates(kind: str) -> Mapping[str, str]:
    folder = f"/plugins/flags/assets/{kind}"
    return {"create": f"{folder}/create.html", "update": f"{folder}/edit.html"}


def _trimmed(content: str | None) -> str:
    if content is None:
        raise Malformed("A flag of this type needs content")
    return content.strip()


@implementer(IFlagType)
class StaticFlag:
    """The answer must be the content, letter for letter, or but for case where the data says ``case_insensitive``."""

    id = "static"
    name = "static"
    templates = _templates("static")

    def clean(self, content: str | None) -> str:
        """The content without blanks around it."""
        return _trimmed(content)

    def matches(self, content: str | None, data: str | None, submission: str) -> bool:
        """Whether the two are equal, compared in a time that does not tell where they differ."""
        if content is None or len(content) != len(submission):
            return False
        if data == _CASE_INSENSITIVE:
            content, submission = content.lower(), submission.lower()
        return hmac.compare_digest(content.encode(errors="surrogatepass"), submission.encode(errors="surrogatepass"))


@implementer(IFlagType)
class RegexFlag:
    """The content is a regular expression of Python that must match the whole answer."""

    id = "regex"
    name = "regex"
    templates = _templates("regex")

    def clean(self, content: str | None) -> str:
        """The content without blanks around it."""
        return _trimmed(content)

    def matches(self, content: str | None, data: str | None, submission: str) -> bool:
        """Whether the expression matches all of *submission*; one that takes longer than ``TIME_LIMIT`` does not match.

        CTFd matches from the start and then asks whether everything was consumed, so that ``a|ab`` refuses ``ab``; the
        same is asked here.
        """
        if content is None:
            return False
        try:
            pattern = _compiled(content, data == _CASE_INSENSITIVE)
        except (re.error, regex.error, OverflowError, RecursionError):
            raise UnusableFlag("Regex parse error occured") from None
        try:
            # Without the interpreter's lock, so that the reactor goes on while a slow expression is being tried.
            found = pattern.match(submission, timeout=TIME_LIMIT, concurrent=True)
        except TimeoutError:
            return False
        return found is not None and found.end() == len(submission)


@lru_cache(maxsize=512)
def _compiled(content: str, ignore_case: bool) -> regex.Pattern[str]:  # noqa: FBT001 - a cache's key
    # `re` can't be interrupted while it matches and would hold the thread for as long as the player likes; `regex`
    # takes a limit. `re` still decides what is an expression at all, so that nothing but Python's syntax gets through.
    re.compile(content)
    return regex.compile(_as_re_reads_it(content), regex.IGNORECASE if ignore_case else 0)


#: An escape, a set, a quantifier, or a brace that is none of these and so stands for itself.
_TOKENS: Final = re.compile(r"\\N\{[^}]*\}|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(?:\d+(?:,\d*)?|,\d*)\}|\{", re.DOTALL)


def _as_re_reads_it(content: str) -> str:
    """*content* for ``regex``, with the brackets and braces escaped that mean nothing in ``re`` but do there.

    ``regex`` reads ``flag{e}`` as "flag, with any number of errors", which would let everybody solve the challenge, and
    ``[[:alpha:]]`` as any letter.
    """
    return _TOKENS.sub(_escaped, content)


def _escaped(token: re.Match[str]) -> str:
    text = token[0]
    if text[0] == "[":
        return "[" + _IN_SET.sub(lambda inner: r"\[" if inner[0] == "[" else inner[0], text[1:])
    return r"\{" if text == "{" else text


#: An escape or a bracket, within a set.
_IN_SET: Final = re.compile(r"\\.|\[", re.DOTALL)


def judge(types: Mapping[str, IFlagType], trial: Trial) -> Verdict:
    """The verdict of a challenge's flags on an answer, by the challenge's logic.

    ``all`` and, where teams play, ``team``; every other name is ``any``. A challenge without flags has no right answer.
    """
    if trial.logic == "all":
        return _judge_all(types, trial)
    if trial.logic == "team" and trial.members is not None:
        return _judge_team(types, trial)
    return _judge_any(types, trial)


def _matching(
    types: Mapping[str, IFlagType], flags: Iterable[Flag], answer: str
) -> tuple[set[int], UnusableFlag | None]:
    """The ids of the flags that *answer* matches, and the trouble with the last flag that could not be compared."""
    matched: set[int] = set()
    trouble = None
    for flag in flags:
        kind = types.get(flag.type or "")
        if kind is None:
            continue
        try:
            if kind.matches(flag.content, flag.data, answer):
                matched.add(flag.id)
        except UnusableFlag as error:
            trouble = error
    return matched, trouble


def _wrong(trouble: UnusableFlag | None) -> Verdict:
    return INCORRECT if trouble is None else Verdict("incorrect", trouble.message)


def _judge_any(types: Mapping[str, IFlagType], trial: Trial) -> Verdict:
    matched, trouble = _matching(types, trial.flags, trial.submission)
    return CORRECT if matched else _wrong(trouble)


def _judge_all(types: Mapping[str, IFlagType], trial: Trial) -> Verdict:
    matched, trouble = _matching(types, trial.flags, trial.submission)
    if not matched:
        return _wrong(trouble)
    for answer in {partial.provided for partial in trial.partials}:
        open_flags = [flag for flag in trial.flags if flag.id not in matched]
        matched |= _matching(types, open_flags, answer)[0]
    return CORRECT if len(matched) == len(trial.flags) else MORE_FLAGS


def _judge_team(types: Mapping[str, IFlagType], trial: Trial) -> Verdict:
    matched, trouble = _matching(types, trial.flags, trial.submission)
    if not matched:
        return _wrong(trouble)
    who = {partial.user_id for partial in trial.partials} | {trial.user_id}
    return CORRECT if who == set(trial.members or ()) else MORE_MEMBERS
