"use strict";
// What every page does with JavaScript: window.CTFd, the light/dark switch, local times, copying.
(() => {
  const config = window.init ?? { urlRoot: "", csrfNonce: "" };

  const CTFd = {
    config,
    // As fetch(), below the application's root: JSON, with the session and its nonce.
    fetch(path, options = {}) {
      const headers = new Headers(options.headers);
      if (!headers.has("Accept")) headers.set("Accept", "application/json");
      if (!headers.has("Content-Type")) headers.set("Content-Type", "application/json");
      headers.set("CSRF-Token", config.csrfNonce);
      return window.fetch(config.urlRoot + path, { credentials: "same-origin", ...options, headers });
    },
  };
  window.CTFd = Object.assign(window.CTFd ?? {}, CTFd);

  // Sends one request to the REST API. Gives {data}, or {errors: {field: [sentence]}} where it was refused.
  async function send(method, path, body) {
    let response;
    try {
      response = await CTFd.fetch(path, { method, body: body === undefined ? undefined : JSON.stringify(body) });
    } catch {
      return { errors: { "": ["The server can't be reached."] } };
    }
    const answer = await response.json().catch(() => ({}));
    if (response.ok && answer.success !== false) return answer;
    const errors = answer.errors ?? { "": [answer.message ?? `The server answered ${response.status}.`] };
    for (const [field, texts] of Object.entries(errors)) errors[field] = [texts].flat();
    return { errors };
  }

  // Says something at the corner of the page, for some seconds, or, where it stays, until it is closed.
  function toast(text, kind = "info", { href, stays = false } = {}) {
    const box = document.createElement("div");
    box.className = `alert alert-${kind}`;
    const words = document.createElement("span");
    words.append(href ? Object.assign(document.createElement("a"), { href, textContent: text }) : text);
    box.append(words);
    if (stays) {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: "Close" });
      button.addEventListener("click", () => box.remove());
      box.append(button);
    } else {
      setTimeout(() => box.remove(), 8000);
    }
    document.getElementById("toasts").append(box);
  }

  // Shows the errors of send() at the form's fields; what belongs to no field stands at the top of the form.
  function showErrors(form, errors = {}) {
    form.querySelectorAll(".field-error, .form-error").forEach((old) => old.remove());
    form.querySelectorAll("[aria-invalid]").forEach((input) => input.removeAttribute("aria-invalid"));
    let first = null;
    for (const [field, texts] of Object.entries(errors)) {
      const input = field ? form.elements.namedItem(field) : null;
      const note = document.createElement("div");
      note.className = input ? "field-error" : "form-error alert alert-danger";
      note.append(Object.assign(document.createElement("span"), { textContent: texts.join(" ") }));
      if (input instanceof HTMLElement) {
        note.id = `${input.id}-error`;
        input.setAttribute("aria-invalid", "true");
        input.setAttribute("aria-describedby", note.id);
        input.after(note);
        input.closest("details")?.setAttribute("open", "");
        first ??= input;
      } else {
        note.setAttribute("role", "alert");
        form.prepend(note);
        first ??= note;
      }
    }
    first?.scrollIntoView({ block: "nearest" });
    if (first instanceof HTMLInputElement) first.focus();
  }

  function length(seconds) {
    let left = Math.max(0, Math.round(seconds));
    const parts = [];
    for (const [size, unit] of [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]]) {
      const count = Math.floor(left / size);
      left -= count * size;
      if (count) parts.push(`${count} ${unit}`);
    }
    return parts.slice(0, 2).join(" ") || "0 s";
  }

  const pad = (number) => String(number).padStart(2, "0");

  function localTimes(root) {
    for (const time of root.querySelectorAll("time[datetime]:not([data-utc])")) {
      const moment = new Date(time.dateTime);
      if (Number.isNaN(moment.getTime())) continue;
      time.dataset.utc = time.textContent;
      time.title = time.textContent;
      const day = `${moment.getFullYear()}-${pad(moment.getMonth() + 1)}-${pad(moment.getDate())}`;
      time.textContent = `${day} ${pad(moment.getHours())}:${pad(moment.getMinutes())}`;
    }
  }

  function countDown() {
    const now = Date.now() / 1000;
    for (const place of document.querySelectorAll("[data-until]")) {
      place.textContent = length(Number(place.dataset.until) - now);
    }
  }

  function enhance(root) {
    localTimes(root);
    root.querySelectorAll("button[data-copy][hidden]").forEach((button) => button.removeAttribute("hidden"));
    root.querySelectorAll("[data-needs-script]").forEach((part) => part.removeAttribute("hidden"));
    root.querySelectorAll("[data-epoch]").forEach(epochField);
  }

  // A field of Unix seconds becomes one of local date and time; without a script it takes the seconds.
  function epochField(field) {
    const seconds = field.querySelector("input");
    if (seconds.type === "hidden") return;
    const shown = document.createElement("input");
    shown.type = "datetime-local";
    shown.id = seconds.id;
    field.querySelector(".hint").textContent = `In your time zone (${Intl.DateTimeFormat().resolvedOptions().timeZone})`;
    if (seconds.value) {
      const moment = new Date(Number(seconds.value) * 1000);
      shown.value = new Date(moment - moment.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
    }
    shown.addEventListener("input", () => {
      seconds.value = shown.value ? String(Math.floor(new Date(shown.value).getTime() / 1000)) : "";
    });
    seconds.removeAttribute("id");
    seconds.type = "hidden";
    seconds.after(shown);
  }

  function themeSwitch() {
    const button = document.getElementById("theme-switch");
    if (!button) return;
    const root = document.documentElement;
    const dark = () =>
      root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    button.hidden = false;
    button.addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark";
      try {
        localStorage.setItem("theme", root.dataset.theme);
      } catch {
        // It then holds for this page only.
      }
    });
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-copy]");
    if (button) {
      const text = button.parentElement.querySelector("code, input").innerText;
      await navigator.clipboard.writeText(text);
      toast("Copied.", "success");
    }
    // The menu of the account closes when one clicks elsewhere.
    for (const menu of document.querySelectorAll("details.who[open]")) {
      if (!menu.contains(event.target)) menu.open = false;
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const menu of document.querySelectorAll("details.who[open]")) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  });
  document.addEventListener("change", (event) => {
    const name = event.target.dataset?.enables;
    if (name) document.getElementById(name).disabled = !event.target.checked;
  });
  document.addEventListener("htmx:after:swap", () => enhance(document));
  // What renews itself does not while nobody looks, nor under the hands of somebody who moves in it by keyboard.
  document.addEventListener("htmx:before:request", (event) => {
    const part = event.detail.ctx.sourceElement;
    const renews = part.getAttribute?.("hx-trigger")?.startsWith("every");
    if (renews && (document.hidden || part.contains(document.activeElement))) event.preventDefault();
  });

  Object.assign(window.CTFd, { ui: { send, toast, showErrors, length, enhance } });
  enhance(document);
  document.querySelector("nav.main [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  themeSwitch();
  countDown();
  setInterval(countDown, 1000);
})();
