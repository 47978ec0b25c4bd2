"use strict";
// The settings page: tabs, the profile, access tokens and sessions, all through the REST API.
(() => {
  const { send, toast, showErrors, enhance } = window.CTFd.ui;

  const tabs = [...document.querySelectorAll("[role=tab]")];
  function choose(tab, focus = false) {
    for (const other of tabs) {
      const chosen = other === tab;
      other.setAttribute("aria-selected", String(chosen));
      other.tabIndex = chosen ? 0 : -1;
      document.getElementById(other.getAttribute("aria-controls")).hidden = !chosen;
    }
    if (focus) tab.focus();
    history.replaceState(null, "", tab.hash);
  }
  for (const tab of tabs) {
    tab.addEventListener("click", (event) => {
      event.preventDefault();
      choose(tab);
    });
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) choose(tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length], true);
    });
  }
  choose(tabs.find((tab) => tab.hash === location.hash) ?? tabs[0]);

  const profile = document.getElementById("user-profile-form");
  profile.addEventListener("submit", async (event) => {
    event.preventDefault();
    const body = { fields: [] };
    for (const input of profile.elements) {
      if (!input.name || input.disabled || ["nonce", "_submit"].includes(input.name)) continue;
      const custom = /^fields\[(\d+)\]$/.exec(input.name);
      if (custom) {
        const value = input.type === "checkbox" ? input.checked : input.value;
        body.fields.push({ field_id: Number(custom[1]), value });
      } else if (input.name === "bracket_id") {
        if (input.value) body.bracket_id = Number(input.value);
      } else if (!["password", "confirm"].includes(input.name) || input.value) {
        body[input.name] = input.value;
      }
    }
    const answer = await send("PATCH", "/api/v1/users/me", body);
    showErrors(profile, answer.errors);
    if (answer.errors) return;
    profile.elements.password.value = profile.elements.confirm.value = "";
    toast("Your profile has been saved.", "success");
  });

  const form = document.getElementById("user-token-form");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const { expiration, description } = form.elements;
    const answer = await send("POST", "/api/v1/tokens", {
      expiration: expiration.value || null,
      description: description.value,
    });
    showErrors(form, answer.errors);
    if (answer.errors) return;
    const shown = document.getElementById("new-token");
    document.getElementById("token-value").textContent = answer.data.value;
    shown.hidden = false;
    shown.scrollIntoView({ block: "nearest" });
    description.value = "";
    addRow(answer.data);
  });

  const table = document.getElementById("token-table");
  function addRow(token) {
    const row = table.querySelector("tbody").insertRow(0);
    row.dataset.token = token.id;
    const name = Object.assign(document.createElement("th"), { scope: "row" });
    name.textContent = token.description || "Without description";
    row.append(name);
    for (const moment of [token.created, token.expiration]) {
      const time = Object.assign(document.createElement("time"), { dateTime: moment, textContent: moment });
      row.insertCell().append(time);
    }
    row.insertCell().textContent = "never";
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: "Delete" });
    button.className = "small danger";
    button.dataset.deleteToken = token.id;
    button.setAttribute("aria-label", `Delete ${token.description || "the token"}`);
    row.insertCell().append(button);
    enhance(row);
    showTable();
  }
  function showTable() {
    const any = table.querySelector("tbody tr") !== null;
    table.hidden = !any;
    document.getElementById("no-tokens").hidden = any;
  }
  table.addEventListener("click", async (event) => {
    const id = event.target.closest("[data-delete-token]")?.dataset.deleteToken;
    if (!id || !confirm("Delete this token? Programs that use it stop working at once.")) return;
    const answer = await send("DELETE", `/api/v1/tokens/${id}`);
    if (answer.errors) return toast(Object.values(answer.errors).flat().join(" "), "danger");
    table.querySelector(`[data-token="${id}"]`).remove();
    showTable();
  });

  document.getElementById("sessions").addEventListener("click", async (event) => {
    const id = event.target.closest("[data-end-session]")?.dataset.endSession;
    if (id === undefined) return;
    const answer = await send("DELETE", `/api/v1/users/me/sessions${id && `/${id}`}`);
    if (answer.errors) return toast(Object.values(answer.errors).flat().join(" "), "danger");
    const ended = id ? `[data-session="${id}"]` : "tr:has([data-end-session])";
    for (const row of document.querySelectorAll(`#session-table ${ended}`)) row.remove();
    toast(id ? "That session has ended." : "You are logged in here only.", "success");
  });
})();
