"""What a rush was like: each kind of request, each second, and the server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from bench.goals import Goal, faults
from bench.rush_shapes import Sample
from bench.rush_watch import Look

_TOO_MANY, _BUSY = 429, 503
#: Milliseconds for 99 of 100 lists and details, where players have sessions.
SOON = 150


class Kind(msgspec.Struct, frozen=True):
    """One kind of request: *limited* were answered 429, *sent_away* 503 with ``Retry-After``; times are milliseconds.

    They are those of requests that were answered as they should be; *faults* has all that was neither.
    """

    name: str
    requests: int
    p50: float
    p95: float
    p99: float
    longest: float
    limited: int
    sent_away: int
    faults: dict[str, int]


class Second(msgspec.Struct, frozen=True):
    """One second: how many requests began in it, how they ended, and how long the good ones took in milliseconds."""

    at: int
    good: int
    limited: int
    sent_away: int
    faults: int
    p50: float
    p99: float


class OfServer(msgspec.Struct, frozen=True):
    """The server: its pauses are waits for an answer that needs no work, in ms; CPU and memory where it is ours.

    *kept_waiting* are seconds in which its reactor was kept from the processors by others.
    """

    pause_p50: float
    pause_p99: float
    longest_pause: float
    cpu_seconds: float
    memory_mb: float
    kept_waiting: float


class Report(msgspec.Struct, frozen=True):
    """The whole of it. *client_late* is how late the client's own timers were, at the 99th percentile, in ms."""

    what: str
    players: int
    seconds: float
    requests_per_second: float
    busiest_second: int
    kinds: list[Kind]
    by_second: list[Second]
    server: OfServer
    client_late: float
    machine: str

    @property
    def faults(self) -> int:
        """Requests that were not answered as they should be, nor told to come back."""
        return sum(sum(kind.faults.values()) for kind in self.kinds)


def percentile(values: Sequence[float], share: float) -> float:
    """The value, in milliseconds, that *share* of *values*, in seconds, stay within; 0 without any."""
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000, 1) if ordered else 0.0


def report(
    what: str,
    players: int,
    seconds: float,
    samples: Sequence[Sample],
    late: Sequence[float],
    looks: Sequence[Look],
    machine: str,
) -> Report:
    """Put it together."""
    names = Counter(sample.kind for sample in samples)
    kinds = [_kind(name, [one for one in samples if one.kind == name]) for name, _ in names.most_common()]
    by_second = [_second(at, (one for one in samples if int(one.at) == at)) for at in range(int(seconds) + 1)]
    return Report(
        what=what,
        players=players,
        seconds=seconds,
        requests_per_second=round(len(samples) / seconds, 1),
        busiest_second=max((one.good + one.limited + one.sent_away + one.faults for one in by_second), default=0),
        kinds=kinds,
        by_second=by_second,
        server=_server(looks),
        client_late=percentile(late, 0.99),
        machine=machine,
    )


def _sorted(samples: Iterable[Sample]) -> tuple[list[float], int, int, Counter[str]]:
    good: list[float] = []
    limited = sent_away = 0
    faults: Counter[str] = Counter()
    for one in samples:
        if one.fault:
            faults[one.fault] += 1
        elif one.status == _TOO_MANY:
            limited += 1
        elif one.status == _BUSY:
            sent_away += 1
        else:
            good.append(one.seconds)
    return good, limited, sent_away, faults


def _kind(name: str, samples: list[Sample]) -> Kind:
    good, limited, sent_away, faults = _sorted(samples)
    p50, p95, p99 = (percentile(good, share) for share in (0.5, 0.95, 0.99))
    return Kind(name, len(samples), p50, p95, p99, percentile(good, 1), limited, sent_away, dict(faults.most_common(5)))


def _second(at: int, samples: Iterable[Sample]) -> Second:
    good, limited, sent_away, faults = _sorted(samples)
    return Second(at, len(good), limited, sent_away, faults.total(), percentile(good, 0.5), percentile(good, 0.99))


def _server(looks: Sequence[Look]) -> OfServer:
    pulses = [look.pulse for look in looks]
    shares = (percentile(pulses, 0.5), percentile(pulses, 0.99), percentile(pulses, 1))
    if not looks:
        return OfServer(*shares, 0.0, 0.0, 0.0)
    cpu, waited = looks[-1].cpu - looks[0].cpu, looks[-1].kept_waiting - looks[0].kept_waiting
    return OfServer(*shares, round(cpu, 2), round(max(look.memory_mb for look in looks), 1), round(waited, 2))


def goals_of(told: Report, *, logins: bool) -> list[Goal]:
    """What was aimed at; with *logins*, where processors are busy with passwords, nothing but right answers."""
    name = f"rush of {told.players}{', signing in' if logins else ''}"
    kinds = {kind.name: kind for kind in told.kinds}
    goal = None if logins else SOON
    times = [Goal(f"{name}: {kind}, p99", goal, kinds[kind].p99, "ms") for kind in ("list", "detail") if kind in kinds]
    return [*times, faults(f"{name}: faults", told.faults)]


def as_text(told: Report) -> str:
    """The table that is printed."""
    speed = f"{told.requests_per_second:.0f} requests/s (busiest second {told.busiest_second})"
    lines = [
        f"{told.what}: {told.players} players, {told.seconds:.0f} s, {speed}",
        f"{'':<16}{'requests':>9}{'p50 ms':>9}{'p95 ms':>9}{'p99 ms':>9}{'max ms':>9}{'429':>7}{'503':>7}{'faults':>8}",
    ]
    for kind in told.kinds:
        faults = sum(kind.faults.values())
        lines.append(
            f"{kind.name:<16}{kind.requests:>9}{kind.p50:>9.1f}{kind.p95:>9.1f}{kind.p99:>9.1f}{kind.longest:>9.1f}"
            f"{kind.limited:>7}{kind.sent_away:>7}{faults:>8}"
        )
        lines += [f"    {count} times {fault}" for fault, count in kind.faults.items()]
    server = told.server
    used = f", {server.cpu_seconds:.1f} CPU s, {server.memory_mb:.0f} MB at most" if server.memory_mb else ""
    if server.kept_waiting:
        used += f", its reactor kept waiting for a processor for {server.kept_waiting:.1f} s"
    lines.append(
        f"server: silent for {server.pause_p50:.1f} ms (p50), {server.pause_p99:.1f} ms (p99), "
        f"{server.longest_pause:.1f} ms (longest){used}"
    )
    lines.append(f"client: its own timers {told.client_late:.1f} ms late (p99); {told.machine}")
    return "\n".join(lines)
