"""What the types of answers can say about themselves beyond what Python's annotations can."""

from __future__ import annotations

from typing import Any, Final, TypeVar

T = TypeVar("T")

_MARK: Final = "__has_more__"


def with_more(kind: type[T]) -> type[T]:
    """Mark a ``TypedDict`` whose objects have keys beyond those that it names: what a kind of challenge adds."""
    setattr(kind, _MARK, True)
    return kind


def has_more(kind: Any) -> bool:
    """Whether objects of *kind* may have keys that it does not name."""
    return bool(getattr(kind, _MARK, False))
