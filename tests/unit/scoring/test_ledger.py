"""The order of a ledger after few have moved, and after many, is that of one made anew."""

import random
from datetime import UTC, datetime, timedelta

import pytest

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
    ledger = Ledger(known.values(), {}, {})
    for minute in range(100, 120):
        accounts = chance.sample(range(1, ACCOUNTS + 6), moving)
        scored = [points(account, chance.randrange(0, 900, 100), minute) for account in accounts[1:]]
        # The first has lost all that it had, or has nothing yet.
        ledger.put(accounts, scored, {})
        known.pop(accounts[0], None)
        known |= {entry.account_id: entry for entry in scored}
        anew = Ledger(known.values(), {}, {})
        assert ledger.moved() <= set(accounts)
        assert ledger.order() == anew.order()
        assert ledger.ranked() == anew.ranked()


def test_a_value_that_falls_moves_all_who_have_it() -> None:
    everybody = range(1, ACCOUNTS + 1)
    solvers = set(range(1, ACCOUNTS + 1, 2))
    ledger = Ledger((points(account, 500, account) for account in everybody), {7: 500}, {7: solvers})
    assert ledger.revalue({7: 400})
    assert ledger.moved() == solvers
    assert ledger.order() == [*range(2, ACCOUNTS + 1, 2), *range(1, ACCOUNTS + 1, 2)]
