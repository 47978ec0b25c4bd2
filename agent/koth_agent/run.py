"""What a command left behind when it was over."""

from dataclasses import dataclass

CANNOT_RUN = 126  # exit statuses as a shell gives them: the command could not be started,
OVER_TIME = 124  # it took too long (as timeout(1) says it),
SIGNALLED = 128  # or it died of signal N, which reads as 128 + N


@dataclass(frozen=True)
class Run:
    """One finished run: the beginning of both streams, and the exit status."""

    stdout: bytes
    stderr: bytes
    status: int

    @property
    def succeeded(self) -> bool:
        """Exit status 0 and nothing on standard error: the rule of the Go agent for both commands."""
        return self.status == 0 and not self.stderr

    @property
    def trouble(self) -> str:
        """Why the run did not succeed, in one short line for the log."""
        complaint = self.stderr[:200].decode("utf-8", "replace").strip()
        return f"exit status {self.status}" + (f", standard error {complaint!r}" if complaint else "")
