"""The order of a ledger after few have moved, and after many, is that of one made anew."""

import random
from datetime import UTC, datetime, timedelta

import pytest

from ctfd_twisted.scoring.gains import Gained, Row, Seen
from ctfd_twisted.scoring.ledger import FEW, Ledger
from ctfd_twisted.scoring.rules import Points

NOON = datetime(2026, 3, 14, 12, tzinfo=UTC)
ACCOUNTS = 4 * FEW


def points(account: int, score: int, minute: int) -> Points:
    return Points(account, score, NOON + timedelta(minutes=minute), minute)


@pytest.mark.parametrize("moving", [1, FEW, FEW + 1, ACCOUNTS])
def test_the_order_is_that_of_a_ledger_made_anew(moving: int) -> None:
    chance = random.Random(moving)  # noqa: S311 - the same at every run
    known = {account: points(account, 100 * (account % 3), account) for account in range(1, ACCOUNTS + 1)}
    ledger = Ledger(known.values(), {}, {}, {})
    for minute in range(100, 120):
        accounts = chance.sample(range(1, ACCOUNTS + 6), moving)
        scored = [points(account, chance.randrange(0, 900, 100), minute) for account in accounts[1:]]
        before = list(given := ledger.order())
        # The first has lost all that it had, or has nothing yet.
        ledger.put(accounts, scored)
        known.pop(accounts[0], None)
        known |= {entry.account_id: entry for entry in scored}
        anew = Ledger(known.values(), {}, {}, {})
        assert ledger.moved() <= set(accounts)
        assert ledger.order() == anew.order()
        assert given == before, "who was given an order may go on looking at it"


def test_a_value_that_falls_moves_all_who_have_it() -> None:
    everybody = range(1, ACCOUNTS + 1)
    solvers = set(range(1, ACCOUNTS + 1, 2))
    ledger = Ledger((points(account, 500, account) for account in everybody), {7: 500}, {7: solvers}, {})
    assert ledger.revalue({7: 400, 8: 300})
    assert ledger.moved() == solvers
    assert [key[3] for key in ledger.order()] == [*range(2, ACCOUNTS + 1, 2), *range(1, ACCOUNTS + 1, 2)]
    assert not ledger.revalue({7: 0}), "rows that are worth nothing count for no instant either"


SEEN = Seen(2, 20, 1, 5)


def test_what_is_gained_is_added_at_the_values_of_now() -> None:
    ledger = Ledger([points(1, 500, 20)], {7: 300}, {7: {1}}, {1: SEEN})
    late = [Row(21, 7, 310, NOON), Row(22, 8, 10, NOON + timedelta(minutes=30)), Row(6, None, 0, None)]
    assert ledger.add(2, Gained(late, Seen(2, 22, 1, 6)), None)
    assert ledger.revalue({7: 290})
    assert [key[::3] for key in ledger.order()] == [(-490, 1), (-300, 2)]
    assert ledger.seen(2) == Seen(2, 22, 1, 6)


def test_what_is_given_after_the_freeze_is_seen_and_does_not_count() -> None:
    ledger = Ledger([points(1, 500, 20)], {}, {}, {1: SEEN})
    assert ledger.add(1, Gained([Row(6, None, 50, NOON)], SEEN._replace(awards=2, last_award=6)), NOON)
    assert (ledger.score(1), ledger.seen(1).awards) == (500, 2)


def test_what_does_not_add_up_is_not_added() -> None:
    assert not Ledger([], {}, {}, {}).add(1, Gained([], None), None)
