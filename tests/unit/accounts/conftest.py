"""A platform in memory, and people on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ctfd_twisted.testing import Client, MemoryPlatform

#: Makes a user by the API and gives back a browser in which they are signed in.
SignUp = Callable[..., Client]


@pytest.fixture
def admin(platform: MemoryPlatform) -> Client:
    return platform.admin()


@pytest.fixture
def browser(platform: MemoryPlatform, admin: Client) -> SignUp:
    def sign_up(name: str, password: str = "secret", **columns: Any) -> Client:
        body = {"name": name, "email": f"{name}@example.org", "password": password, "verified": True, **columns}
        assert admin.post("/api/v1/users", body).data["name"] == name
        client = platform.client()
        assert client.submit("/login", name=name, password=password).status == 302
        return client

    return sign_up
