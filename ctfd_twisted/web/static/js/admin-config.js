"use strict";
// The administrators' page of settings: each form is one PATCH of the REST API.
(() => {
  const { send, toast, showErrors } = window.CTFd.ui;
  const all = "/api/v1/configs";
  const sentence = (errors) => Object.values(errors).flat().join(" ");

  // The form's settings by their keys; empty text is null, so that defaults apply, and an empty secret is left alone.
  function settings(form) {
    const values = {};
    for (const input of form.elements) {
      if (!input.name || ("secret" in input.dataset && !input.value)) continue;
      values[input.name] = input.type === "checkbox" ? input.checked : input.value.trim() || null;
    }
    if (values.mail_useauth === false) values.mail_username = values.mail_password = null;
    return values;
  }

  async function save(form) {
    const answer = await send("PATCH", all, settings(form));
    showErrors(form, answer.errors);
    if (answer.errors) return;
    form.querySelectorAll("[data-secret]").forEach((input) => (input.value = ""));
    toast("Saved.", "success");
  }

  async function upload(file) {
    const form = new FormData();
    form.append("nonce", window.CTFd.config.csrfNonce);
    form.append("file", file);
    const options = { method: "POST", body: form, credentials: "same-origin" };
    const response = await fetch(`${window.CTFd.config.urlRoot}/api/v1/files`, options).catch(() => null);
    const answer = (await response?.json().catch(() => null)) ?? {};
    if (response?.ok && answer.data?.length) return answer.data[0].location;
    throw new Error(answer.errors ? sentence(answer.errors) : answer.message ?? "The server can't be reached.");
  }

  const kinds = /\.(png|jpe?g|gif|webp|svg|ico)$/i;

  async function choose(part, file) {
    if (!kinds.test(file.name)) return toast("This is no picture that browsers show.", "danger");
    if (file.size > Number(part.dataset.largest)) return toast("This picture is too large.", "danger");
    try {
      await replace(part, await upload(file));
    } catch (error) {
      toast(error.message, "danger");
    }
  }

  async function replace(part, location) {
    const answer = await send("PATCH", `${all}/${part.dataset.picture}`, { value: location });
    if (answer.errors) return toast(sentence(answer.errors), "danger");
    window.location.reload();
  }

  async function test(form) {
    const place = form.querySelector(".result");
    const answer = await send("POST", "/api/v1/mail/test", { recipient: form.elements.recipient.value.trim() || null });
    showErrors(form, answer.errors);
    place.replaceChildren();
    if (answer.errors) return;
    const { sent, server, recipient, error, steps } = answer.data;
    const box = place.appendChild(document.createElement("div"));
    box.className = `alert alert-${sent ? "success" : "danger"}`;
    const told = sent ? `${server} has taken a mail to ${recipient}.` : error ?? "It was not sent.";
    box.appendChild(document.createElement("span")).textContent = told;
    const list = place.appendChild(document.createElement("ol"));
    for (const step of steps) {
      const item = list.appendChild(document.createElement("li"));
      item.appendChild(document.createElement("strong")).textContent = step.step;
      item.append(` ${step.ok ? "went well" : "failed"} after ${step.ms} ms: ${step.detail}`);
    }
  }

  for (const form of document.querySelectorAll("[data-settings]")) {
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      await save(form);
    });
  }
  const trial = document.getElementById("mail-test");
  trial.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = trial.querySelector("button");
    button.disabled = true;
    await test(trial);
    button.disabled = false;
  });
  for (const part of document.querySelectorAll("[data-picture]")) {
    part.querySelector("input").addEventListener("change", (event) => choose(part, event.target.files[0]));
    part.querySelector("[data-remove]")?.addEventListener("click", () => replace(part, null));
  }
})();
