"""The uploads of an archive into the store; every function here waits for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ctfd_twisted.archive.progress import Progress
from ctfd_twisted.archive.reading import Archive
from ctfd_twisted.archive.report import Report
from ctfd_twisted.files.content import Staged, Store
from ctfd_twisted.files.rules import is_location

#: Bytes of a directory's and of a file's name: what file systems take.
_LONGEST: Final = 255
#: Names that are devices somewhere, whatever follows their first dot.
_DEVICES: Final = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))})


def acceptable(location: str) -> bool:
    """Whether an upload may come to *location*: a directory and a name, both of this world."""
    parts = location.split("/")
    return (
        len(parts) == 2  # noqa: PLR2004 - a directory and a name
        and is_location(location)
        and location.isprintable()
        and not any(
            len(part.encode()) > _LONGEST or part.startswith(".") or part.split(".")[0].lower() in _DEVICES
            for part in parts
        )
    )


def _wanted(archive: Archive) -> Iterator[tuple[str, str]]:
    """The uploads that come in; of two for one location the first."""
    seen: set[str] = set()
    for member, location in archive.uploads():
        if acceptable(location) and location not in seen:
            seen.add(location)
            yield member, location


def refused(archive: Archive) -> int:
    """How many uploads of *archive* are left where they are."""
    return sum(1 for _ in archive.uploads()) - sum(1 for _ in _wanted(archive))


class StagedUploads:
    """The uploads of *archive*, brought into *store* and not at their locations yet. Raises ``CannotImport``."""

    def __init__(self, archive: Archive, store: Store, progress: Progress) -> None:
        self._staged: dict[str, Staged] = {}
        try:
            for member, location in _wanted(archive):
                content = self._staged[location] = store.stage(location)
                for piece in archive.pieces(member, progress.advance):
                    content.write(piece)
                content.close()
        except BaseException:
            self.discard()
            raise

    @property
    def locations(self) -> frozenset[str]:
        """Where they are wanted."""
        return frozenset(self._staged)

    def keep(self, locations: Iterable[str]) -> None:
        """Be the content at *locations*. Raises ``OSError``."""
        for location in sorted(locations):
            self._staged[location].keep(location)

    def discard(self) -> None:
        """Forget what was not kept."""
        for content in self._staged.values():
            content.discard()


def read_through(archive: Archive, progress: Progress) -> frozenset[str]:
    """Read every upload and keep none; the locations to which they would have come. Raises ``CannotImport``."""
    locations = set()
    for member, location in _wanted(archive):
        for _ in archive.pieces(member, progress.advance):
            pass
        locations.add(location)
    return frozenset(locations)


def add_to_report(report: Report, archive: Archive, brought: frozenset[str], store: Store) -> None:
    """Say in *report* what became of uploads, and which files have a row and no content."""
    report.uploads = len(brought)
    report.note("uploads", "had no directory and name that files can have, and were left out", refused(archive))
    report.note("uploads", "belong to no file", len(brought - set(report.named)))
    lost = 0
    for location in set(report.named) - brought:
        content = store.open(location)
        if content is None:
            lost += 1
        else:
            content.file.close()
    report.note("files", "have no content in the archive or here", lost)
