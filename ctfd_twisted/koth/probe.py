"""What a probe of a hill has found, step by step. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict

import msgspec

from ctfd_twisted.koth.boards import KingOfHill
from ctfd_twisted.koth.identifiers import Match
from ctfd_twisted.koth.protocol import Evidence
from ctfd_twisted.koth.rules import NO_REIGN, Account, decide
from ctfd_twisted.koth.settings import HillSettings
from ctfd_twisted.koth.views import HillAccount, shown_account


class ProbeStep(TypedDict):
    """One step of a probe; ``body`` is the beginning of an answer."""

    step: str
    ok: bool
    detail: str
    body: str | None


class Probed(TypedDict):
    """What a tick would make of what a probe has found, and each step with whether it went well.

    ``fingerprint`` is that of the certificate, ``account`` whom the identifier stands for.
    """

    outcome: str
    detail: str | None
    status: int | None
    latency_ms: int
    signed: bool | None
    fingerprint: str | None
    identifier: str | None
    account: HillAccount | None
    matched_by: str | None
    steps: list[ProbeStep]


class Named(msgspec.Struct, frozen=True):
    """Whom an identifier stands for: how it was matched, the account, and what it is called."""

    match: Match
    account: Account
    shown: KingOfHill | None


def shown_probe(
    evidence: Evidence, named: tuple[Named | None, ...], settings: HillSettings, now: datetime, *, teams_mode: bool
) -> Probed:
    """What a tick would make of *evidence*; *named* are those whom its owners stand for.

    That a new king may have to be confirmed is left out of it: the question is whether the hill and its agent work.
    """
    at_once = msgspec.structs.replace(settings, confirm_ticks=1)
    accounts = tuple(None if name is None else name.account for name in named)
    verdict = decide(evidence, accounts, NO_REIGN, at_once, tick=0, due=now, teams=teams_mode)
    first = named[0] if named else None
    return {
        "outcome": verdict.outcome,
        "detail": verdict.detail,
        "status": evidence.status,
        "latency_ms": evidence.latency_ms,
        "signed": evidence.signed if evidence.owners else None,
        "fingerprint": evidence.fingerprint,
        "identifier": evidence.owners[0] if evidence.owners else None,
        "account": None if first is None else shown_account(first.shown),
        "matched_by": None if first is None else first.match.way,
        "steps": _steps(evidence, settings),
    }


def _steps(evidence: Evidence, settings: HillSettings) -> list[ProbeStep]:
    """Each step with whether it went well and, of the last, why it did not."""
    answered = evidence.status is not None
    steps = [_step("connect", ok=evidence.connected, detail="connected" if evidence.connected else evidence.detail)]
    if evidence.connected and settings.url.lower().startswith("https:"):
        certificate = f"certificate {evidence.fingerprint}" if evidence.fingerprint else "no certificate"
        trusted = answered or evidence.failure != "tls_error"
        steps.append(_step("tls", ok=trusted, detail=certificate if trusted else f"{evidence.detail} ({certificate})"))
    if all(step["ok"] for step in steps):
        last = len(evidence.answers) - 1
        for number, kept in enumerate(evidence.answers):
            failed = evidence.failure is not None and number == last
            plain = f"status {kept.status} after {kept.latency_ms} ms"
            steps.append(_step(kept.step, ok=not failed, detail=evidence.detail if failed else plain, body=kept.body))
    return steps


def _step(name: str, *, ok: bool, detail: str, body: str | None = None) -> ProbeStep:
    return {"step": name, "ok": ok, "detail": detail, "body": body}
