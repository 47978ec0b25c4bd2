"""The report of a rush as one page of HTML that needs nothing from anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from bench.rush_report import Report, Second

_WIDTH, _HEIGHT, _LEFT, _BELOW = 860, 220, 56, 24
_STYLE = """
:root { color-scheme: light dark; --ink: #1d2430; --faint: #6b7686; --rule: #d8dee8; --paper: #fff;
  --good: #2f7d4f; --limited: #c98a12; --away: #2f6fb5; --fault: #c0362c; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --faint: #96a1b2; --rule: #353d4a; --paper: #171b22;
  --good: #5cb683; --limited: #e3b04b; --away: #6aa5e6; --fault: #ef6f63; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto;
  max-width: 960px; padding: 0 1rem; }
h1 { font-size: 1.3rem; } h2 { font-size: 1rem; margin-top: 2rem; } .faint, figcaption { color: var(--faint); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .25rem .6rem; border-bottom: 1px solid var(--rule); }
th:first-child, td:first-child { text-align: left; } .fault { color: var(--fault); } figure { margin: 0; }
svg { width: 100%; height: auto; } svg text { font: 11px system-ui, sans-serif; fill: var(--faint); }
.grid { stroke: var(--rule); } .line { fill: none; stroke-width: 1.8; } .key { font-size: .85rem; }
.key i { display: inline-block; width: .8em; height: .8em; margin: 0 .35em 0 1em; border-radius: 2px; }
"""
_ENDS = (("good", "answered"), ("limited", "429"), ("away", "503 with Retry-After"), ("fault", "faults"))


def as_html(told: Report) -> str:
    """The page."""
    server = told.server
    used = f" It used {server.cpu_seconds:.1f} CPU seconds and {server.memory_mb:.0f} MB." if server.memory_mb else ""
    if server.kept_waiting:
        used += f" Its reactor was kept waiting for a processor for {server.kept_waiting:.1f} s."
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Opening minute</title><style>{_STYLE}</style>
<h1>The opening minute: {escape(told.what)}</h1>
<p>{told.players} players in {told.seconds:.0f} s, {told.requests_per_second:.0f} requests/s on average and
{told.busiest_second} in the busiest second, {told.faults} faults.</p>
<h2>Requests in each second</h2>{_bars(told.by_second)}
<h2>Time to the answer, in milliseconds</h2>{_lines(told.by_second)}
<h2>Kinds of requests</h2>{_table(told)}
<h2>The server</h2>
<p>For an answer that needs no work it was silent for {server.pause_p50:.1f} ms (p50), {server.pause_p99:.1f} ms (p99),
{server.longest_pause:.1f} ms at the longest.{used}</p>
<p class="faint">The client's own timers were {told.client_late:.1f} ms late (p99), by which its times are too long.
{escape(told.machine)}.</p>
</html>
"""


def _key(colours: Sequence[tuple[str, str]]) -> str:
    shown = "".join(f'<i style="background:var(--{colour})"></i>{escape(text)}' for colour, text in colours)
    return f'<figcaption class="key">{shown}</figcaption>'


def _frame(highest: float, seconds: Sequence[Second], inside: str, colours: Sequence[tuple[str, str]]) -> str:
    """A chart: four lines of the grid with their values, a second's number every ten, and what is *inside*."""
    rows = []
    for quarter in range(5):
        y = _HEIGHT - _HEIGHT * quarter / 4 + 8
        value = highest * quarter / 4
        rows.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>')
        rows.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
    for number, second in enumerate(seconds):
        if second.at % 10 == 0:
            x = _x(number, len(seconds))
            rows.append(f'<text x="{x:.1f}" y="{_HEIGHT + _BELOW}" text-anchor="middle">{second.at} s</text>')
    size = f'viewBox="0 0 {_WIDTH + 8} {_HEIGHT + _BELOW + 8}"'
    return f'<figure><svg role="img" {size}>{"".join(rows)}{inside}</svg>{_key(colours)}</figure>'


def _x(number: int, count: int) -> float:
    return _LEFT + (_WIDTH - _LEFT) * (number + 0.5) / count


def _round_up(value: float) -> float:
    """The next of 1, 2, 4 or 10 times a power of ten, so that the grid's quarters are numbers that people read."""
    step = 1.0
    while step * 10 < value:
        step *= 10
    return next((step * times for times in (1, 2, 4, 10) if value <= step * times), step * 10)


def _bars(seconds: Sequence[Second]) -> str:
    totals = [one.good + one.limited + one.sent_away + one.faults for one in seconds]
    highest = _round_up(max(totals, default=1) or 1)
    width = (_WIDTH - _LEFT) / max(1, len(seconds)) * 0.8
    drawn = []
    for number, one in enumerate(seconds):
        y = _HEIGHT + 8.0
        for (colour, _), value in zip(_ENDS, (one.good, one.limited, one.sent_away, one.faults), strict=True):
            height = _HEIGHT * value / highest
            y -= height
            if value:
                x = _x(number, len(seconds)) - width / 2
                place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
                drawn.append(f'<rect {place} fill="var(--{colour})"/>')
    return _frame(highest, seconds, "".join(drawn), _ENDS)


def _lines(seconds: Sequence[Second]) -> str:
    highest = _round_up(max((one.p99 for one in seconds), default=1) or 1)
    drawn = []
    for colour, values in (("limited", [one.p99 for one in seconds]), ("good", [one.p50 for one in seconds])):
        points = " ".join(
            f"{_x(number, len(values)):.1f},{_HEIGHT + 8 - _HEIGHT * value / highest:.1f}"
            for number, value in enumerate(values)
        )
        drawn.append(f'<polyline class="line" stroke="var(--{colour})" points="{points}"/>')
    return _frame(highest, seconds, "".join(drawn), (("good", "half of the requests"), ("limited", "99 of 100")))


def _table(told: Report) -> str:
    heads = ("", "requests", "p50", "p95", "p99", "longest", "429", "503", "faults")
    rows = ["<tr>" + "".join(f"<th>{head}</th>" for head in heads) + "</tr>"]
    for kind in told.kinds:
        faults = sum(kind.faults.values())
        times = (kind.p50, kind.p95, kind.p99, kind.longest)
        cells = [escape(kind.name), str(kind.requests), *(f"{one:.1f}" for one in times)]
        cells += [str(kind.limited), str(kind.sent_away), str(faults)]
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
        rows += [
            f'<tr class="fault"><td colspan="{len(heads)}">{count} times {escape(fault)}</td></tr>'
            for fault, count in kind.faults.items()
        ]
    return f"<table>{''.join(rows)}</table>"
