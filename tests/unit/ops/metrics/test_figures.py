"""Claims about counts and histograms, and about those of several processes in one answer."""

from __future__ import annotations

import msgspec
from prometheus_client.parser import text_string_to_metric_families

from ctfd_twisted.ops.metrics.figures import Family, Timings, counter, gauge, histogram, merged
from ctfd_twisted.ops.metrics.server import as_text


def told(*families: Family) -> dict[str, float]:
    """Every sample by its name and labels, as Prometheus reads what is written."""
    body, _ = as_text(families, "")
    return {
        f"{sample.name}{dict(sorted(sample.labels.items()))}": sample.value
        for family in text_string_to_metric_families(body.decode())
        for sample in family.samples
    }


def test_a_histogram_counts_up_to_each_bound() -> None:
    timings = Timings((0.1, 1.0))
    for seconds in (0.05, 0.1, 0.5, 3.0):
        timings.add(seconds)
    assert told(histogram("x_seconds", "X.", [({"a": "b"}, timings)])) == {
        "x_seconds_bucket{'a': 'b', 'le': '0.1'}": 2,
        "x_seconds_bucket{'a': 'b', 'le': '1.0'}": 3,
        "x_seconds_bucket{'a': 'b', 'le': '+Inf'}": 4,
        "x_seconds_count{'a': 'b'}": 4,
        "x_seconds_sum{'a': 'b'}": 3.65,
    }


def test_figures_of_processes_are_one_family_each() -> None:
    first = [counter("n", "N.", [({"a": "1"}, 2)]), gauge("only", "O.", ({}, True))]
    families = merged([({"worker": "w1"}, first), ({"worker": "w2"}, [counter("n", "N.", [({"a": "1"}, 3)])])])
    assert [family.name for family in families] == ["n", "only"]
    assert told(*families) == {
        "n_total{'a': '1', 'worker': 'w1'}": 2,
        "n_total{'a': '1', 'worker': 'w2'}": 3,
        "only{'worker': 'w1'}": 1,
    }


def test_figures_survive_the_way_between_processes() -> None:
    timings = Timings((1.0,))
    timings.add(0.5)
    families = [gauge("g", "G.", ({}, True)), histogram("h", "H.", [({}, timings)])]
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(families), type=list[Family]) == families


def test_whoever_asks_for_open_metrics_gets_them() -> None:
    body, content_type = as_text([gauge("g", "G.", ({}, 1))], "application/openmetrics-text; version=1.0.0")
    assert content_type.startswith("application/openmetrics-text")
    assert body.endswith(b"# EOF\n")
