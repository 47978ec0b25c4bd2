"""How answers are compared with flags."""

import re
import time
import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctfd_twisted.challenges.flags import TIME_LIMIT, RegexFlag, StaticFlag, judge
from ctfd_twisted.challenges.judging import Flag, Partial, Trial, UnusableFlag, Verdict
from ctfd_twisted.errors import Malformed
from ctfd_twisted.interfaces import IFlagType

TYPES: dict[str, IFlagType] = {"static": StaticFlag(), "regex": RegexFlag()}


def a_flag(number: int, content: str, kind: str = "static", data: str | None = None) -> Flag:
    return Flag(number, kind, content, data)


@given(st.text(), st.text())
def test_a_static_flag_matches_itself_alone(content: str, submission: str) -> None:
    assert StaticFlag().matches(content, None, content)
    assert StaticFlag().matches(content, None, submission) is (content == submission)


@pytest.mark.parametrize(("submission", "right"), [("FLAG{a}", True), ("flag{A}", True), ("flag{b}", False)])
def test_case_is_ignored_where_the_data_says_so(submission: str, *, right: bool) -> None:
    assert StaticFlag().matches("Flag{a}", "case_insensitive", submission) is right
    assert RegexFlag().matches(r"Flag\{a\}", "case_insensitive", submission) is right


def test_case_counts_otherwise() -> None:
    assert not StaticFlag().matches("Flag", "", "flag")
    assert not RegexFlag().matches("Flag", None, "flag")


def test_lengths_are_compared_before_case() -> None:
    # "İ" becomes two characters in lower case.
    assert not StaticFlag().matches("İ", "case_insensitive", "i̇")


@pytest.mark.parametrize("kind", [StaticFlag(), RegexFlag()])
def test_content_is_stored_trimmed_and_must_be_there(kind: StaticFlag | RegexFlag) -> None:
    assert kind.clean("  flag{x}\n") == "flag{x}"
    with pytest.raises(Malformed):
        kind.clean(None)
    assert not kind.matches(None, None, "")


def test_an_expression_must_match_from_the_start_to_the_end() -> None:
    assert RegexFlag().matches("[a-c]+", None, "abc")
    assert not RegexFlag().matches("[a-c]+", None, "xabc")
    assert not RegexFlag().matches("[a-c]+", None, "abcx")
    assert not RegexFlag().matches("a|ab", None, "ab")


@pytest.mark.parametrize("content", ["flag{e}", "flag{i}x", "flag{d}", "ctf{s<=2}", "a{2i+2d<=4}", "flag{e:[a-z]}"])
def test_braces_are_never_read_as_permission_for_mistakes(content: str) -> None:
    literal = re.compile(content)
    for submission in (content, "fla", "flag", "flagXYZ", "flax", "ctx"):
        assert RegexFlag().matches(content, None, submission) is (literal.fullmatch(submission) is not None)


@pytest.mark.parametrize("content", ["[[:alpha:]]+", "[^[:digit:]]", r"[\[[:a-z]", "[[:nonsense:]]", "[a[]"])
def test_brackets_within_a_set_stand_for_themselves(content: str) -> None:
    with warnings.catch_warnings(action="ignore"):  # Python thinks aloud of sets within sets
        expected = re.compile(content)
        for submission in ("x", "[]", "l]]", ":]", "7", "[", "z"):
            assert RegexFlag().matches(content, None, submission) is (expected.fullmatch(submission) is not None)


PIECES = st.sampled_from(
    [
        *[
            r"a",
            r"b",
            r".",
            r"[ab]",
            r"[^a]",
            r"[]a]",
            r"[{e}]",
            r"a{2}",
            r"b{1,2}",
            r"a{,2}",
            r"a{1,}",
            r"{",
            r"}",
            r"{}",
            r"a{e}",
            r"\{",
            r"\}",
            r"\d",
            r"(?:a)",
            r"(b)",
            r"(?:ab){e}",
            r"[\]{]",
        ],
        *[r"a*", r"b+?", r"a?", r"\[", r"{1", r"|", r"^", r"$"],
        r"\N{DIGIT ONE}",
    ]
)


@given(st.lists(PIECES, max_size=5).map("".join), st.text("ab1{}e,[]", max_size=6))
def test_an_expression_means_what_it_means_to_python(content: str, submission: str) -> None:
    try:
        found = re.match(content, submission)
    except re.error:
        # The pieces together are no expression: "{1" and "}" repeat nothing.
        with pytest.raises(UnusableFlag):
            RegexFlag().matches(content, None, submission)
        return
    expected = found is not None and found.end() == len(submission)
    assert RegexFlag().matches(content, None, submission) is expected


@pytest.mark.parametrize("content", ["(", "[a", "*", r"\q", "(?P<a>", "a{2,1}", r"(?|a)", r"\p{L}"])
def test_what_python_does_not_read_is_a_broken_flag(content: str) -> None:
    with pytest.raises(UnusableFlag, match="Regex parse error occured"):
        RegexFlag().matches(content, None, "a")


def test_an_expression_that_would_search_for_years_is_given_up() -> None:
    begun = time.monotonic()
    assert not RegexFlag().matches(r"(a|a)*b|(.*.*.*.*.*)x", None, "a" * 5000 + "!")
    assert time.monotonic() - begun < 20 * TIME_LIMIT


def verdict(logic: str, submission: str, *flags: Flag, **facts: Any) -> Verdict:
    return judge(TYPES, Trial(submission, flags, logic, **facts))


@pytest.mark.parametrize("logic", ["any", "", "nonsense"])
def test_any_flag_is_enough(logic: str) -> None:
    flags = a_flag(1, "one"), a_flag(2, "two")
    assert verdict(logic, "two", *flags).status == "correct"
    assert verdict(logic, "three", *flags).message == "Incorrect"


@pytest.mark.parametrize("logic", ["any", "all", "team"])
def test_without_flags_nothing_is_right(logic: str) -> None:
    assert verdict(logic, "", members=frozenset({1}), user_id=1).status == "incorrect"


@pytest.mark.parametrize("logic", ["any", "all"])
def test_a_broken_flag_is_told_and_does_not_stand_in_the_way_of_another(logic: str) -> None:
    broken, fine = a_flag(1, "(", "regex"), a_flag(2, "b")
    assert verdict(logic, "x", broken).message == "Regex parse error occured"
    assert verdict("any", "b", broken, fine).status == "correct"


def test_an_unknown_type_of_flag_never_matches() -> None:
    assert verdict("any", "x", a_flag(1, "x", "magic")).status == "incorrect"


def test_all_flags_may_come_one_after_another() -> None:
    flags = a_flag(1, "one"), a_flag(2, "two")
    first = verdict("all", "one", *flags)
    assert (first.status, first.message) == ("partial", "Correct but more flags are required")
    earlier = (Partial(1, "one"),)
    assert verdict("all", "one", *flags, partials=earlier).status == "partial"
    assert verdict("all", "three", *flags, partials=earlier).status == "incorrect"
    assert verdict("all", "two", *flags, partials=earlier).status == "correct"


def test_one_answer_may_match_several_flags() -> None:
    assert verdict("all", "ab", a_flag(1, "ab"), a_flag(2, "[ab]+", "regex")).status == "correct"


def test_every_member_of_a_team_must_answer() -> None:
    flags, members = (a_flag(1, "one"),), frozenset({1, 2})
    first = verdict("team", "one", *flags, user_id=1, members=members)
    assert (first.status, first.message) == ("partial", "Correct but all team members must submit a flag")
    earlier = (Partial(1, "one"),)
    assert verdict("team", "one", *flags, user_id=1, members=members, partials=earlier).status == "partial"
    assert verdict("team", "no", *flags, user_id=2, members=members, partials=earlier).status == "incorrect"
    assert verdict("team", "one", *flags, user_id=2, members=members, partials=earlier).status == "correct"


def test_the_answer_of_one_who_left_counts_for_nobody() -> None:
    earlier = (Partial(9, "one"), Partial(1, "one"))
    assert (
        verdict("team", "one", a_flag(1, "one"), user_id=2, members=frozenset({1, 2}), partials=earlier).status
        == "partial"
    )


def test_where_single_users_play_team_is_any() -> None:
    assert verdict("team", "one", a_flag(1, "one"), user_id=1).status == "correct"
