"use strict";
// The captain's tools on the page of the own team.
(() => {
  const { send, toast, showErrors } = window.CTFd.ui;
  const form = document.getElementById("team-form");
  if (!form) return;
  const captain = Number(form.elements.captain_id.value);

  const say = (errors) => toast(Object.values(errors).flat().join(" "), "danger");

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const body = {};
    for (const input of form.elements) {
      if (!input.name || ["nonce", "_submit"].includes(input.name)) continue;
      if (input.name === "captain_id") {
        if (Number(input.value) !== captain) body.captain_id = Number(input.value);
      } else if (!["password", "confirm"].includes(input.name) || input.value) body[input.name] = input.value;
    }
    const answer = await send("PATCH", "/api/v1/teams/me", body);
    showErrors(form, answer.errors);
    if (!answer.errors) location.reload();
  });

  document.getElementById("team-invite").addEventListener("click", async () => {
    const answer = await send("POST", "/api/v1/teams/me/members", {});
    if (answer.errors) return say(answer.errors);
    const link = `${location.origin}${window.CTFd.config.urlRoot}/teams/invite?code=${encodeURIComponent(answer.data.code)}`;
    document.getElementById("invite-link").textContent = link;
    document.getElementById("invite").hidden = false;
  });

  document.getElementById("team-disband").addEventListener("click", async () => {
    if (!confirm("Disband your team? Its members are without a team then.")) return;
    const answer = await send("DELETE", "/api/v1/teams/me", {});
    if (answer.errors) return say(answer.errors);
    location.reload();
  });
})();
