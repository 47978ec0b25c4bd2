"""Letters that lie in the database sealed: they may hold a password, or a link that opens an account."""

from __future__ import annotations

from cryptography.fernet import Fernet, InvalidToken


class Sealer:
    """Seals and opens with one key, which is made from the secret key (``Keys.mail_key``)."""

    def __init__(self, key: bytes) -> None:
        self._fernet = Fernet(key)

    def seal(self, text: str) -> bytes:
        """Return *text* sealed."""
        return self._fernet.encrypt(text.encode("utf-8", "surrogatepass"))

    def open(self, sealed: bytes) -> str | None:
        """Return the text in *sealed*; ``None`` where it was sealed with another secret key."""
        try:
            return self._fernet.decrypt(sealed).decode("utf-8", "replace")
        except InvalidToken:
            return None
