"""The administrators' page of settings."""

import re

import pytest

from ctfd_twisted.testing import MemoryPlatform
from ctfd_twisted.web.config_fields import SECTIONS

PAGE = "/admin/config"
SETTINGS = {setting.key: setting for section in SECTIONS for setting in section.settings}


def field(text: str, key: str) -> str:
    """The tag in which *key* is asked for."""
    found = re.search(rf'<(?:input|select|textarea)[^>]* name="{key}"[^>]*>(?:[^<]*</textarea>)?', text)
    assert found is not None, key
    return found[0]


def test_it_is_for_administrators_alone(platform: MemoryPlatform) -> None:
    assert platform.client().get(PAGE).location.startswith("/login?next=")
    assert platform.player("alice").get(PAGE).status == 403
    assert platform.player("alice").post(PAGE, {}).status == 403


def test_it_asks_every_setting_once(platform: MemoryPlatform) -> None:
    text = platform.admin().get(PAGE).text
    assert len(SETTINGS) == sum(len(section.settings) for section in SECTIONS)
    for setting in SETTINGS.values():
        assert len(re.findall(rf' id="{setting.key}"', text)) == 1
        if setting.kind != "picture":
            assert field(text, setting.key)
    for section in SECTIONS:
        assert f'href="#{section.name}"' in text
        assert f'id="{section.name}"' in text


def test_it_shows_what_is_stored_and_else_what_counts(platform: MemoryPlatform) -> None:
    platform.configure(
        ctf_name='"Winter"', start=1_770_000_000, tos_text="<b>be kind", score_visibility="hidden", ctf_logo="a/l.png"
    )
    text = platform.admin().get(PAGE).text
    assert 'value="&#34;Winter&#34;"' in field(text, "ctf_name")
    assert 'value="1770000000"' in field(text, "start")
    assert "&lt;b&gt;be kind" in field(text, "tos_text")
    assert '<option value="hidden" selected>' in text.split('name="score_visibility"')[1].split("</select>")[0]
    assert '<option value="private" selected>' in text.split('name="challenge_visibility"')[1].split("</select>")[0]
    assert 'src="/files/a/l.png"' in text.split('data-picture="ctf_logo"')[1]
    assert 'value="10"' in field(text, "incorrect_submissions_per_min")


@pytest.mark.parametrize(("stored", "on"), [("1", True), ("true", True), ("0", False), ("false", False)])
def test_a_switch_shows_what_counts(platform: MemoryPlatform, stored: str, *, on: bool) -> None:
    platform.configure(paused=stored, name_changes=stored)
    text = platform.admin().get(PAGE).text
    assert ("checked" in field(text, "paused"), "checked" in field(text, "name_changes")) == (on, on)


def test_a_switch_of_which_nothing_is_stored_shows_its_default(platform: MemoryPlatform) -> None:
    text = platform.admin().get(PAGE).text
    assert "checked" in field(text, "name_changes")
    assert "checked" not in field(text, "paused")


def test_secrets_are_not_shown(platform: MemoryPlatform) -> None:
    secrets = [setting.key for setting in SETTINGS.values() if setting.kind == "secret"]
    assert secrets == ["mail_password", "mailgun_api_key", "oauth_client_secret"]
    platform.configure(**dict.fromkeys(secrets, "swordfish"))
    assert "swordfish" not in platform.admin().get(PAGE).text


def test_it_offers_a_test_of_mail(platform: MemoryPlatform) -> None:
    form = platform.admin().get(PAGE).text.split('id="mail-test"')[1].split("</form>")[0]
    assert 'value="admin@example.org"' in form


def test_the_menu_leads_there(platform: MemoryPlatform) -> None:
    assert f'<a href="{PAGE}"' in platform.admin().get("/admin/statistics").text
