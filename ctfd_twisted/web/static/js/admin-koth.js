"use strict";
// The administrators' page of one hill: saved, tried and deleted through the REST API.
(() => {
  const { send, showErrors, toast } = window.CTFd.ui;
  const form = document.getElementById("hill-form");
  const result = document.getElementById("probe-result");
  const { id } = form.dataset;
  const sentence = (errors) => Object.values(errors).flat().join(" ");

  function settings() {
    const body = { type: "koth" };
    for (const input of form.elements) {
      const { kind } = input.dataset;
      if (!kind) continue;
      if (kind === "boolean") body[input.name] = input.checked;
      else if (kind === "number") body[input.name] = input.value === "" ? null : Number(input.value);
      else body[input.name] = input.value.trim() === "" ? null : input.value;
    }
    return body;
  }

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const body = settings();
    const answer = id
      ? await send("PATCH", `/api/v1/challenges/${id}`, body)
      : await send("POST", "/api/v1/challenges", body);
    showErrors(form, answer.errors);
    if (answer.errors) return;
    if (id) return toast("Saved.", "success");
    location.href = `${window.CTFd.config.urlRoot}/admin/koth/${answer.data.id}`;
  });

  document.getElementById("delete")?.addEventListener("click", async () => {
    if (!confirm("Delete this hill with all its ticks? The awards that it gave stay.")) return;
    const answer = await send("DELETE", `/api/v1/challenges/${id}`, {});
    if (answer.errors) return toast(sentence(answer.errors), "danger");
    location.href = `${window.CTFd.config.urlRoot}/admin/koth`;
  });

  document.getElementById("reset")?.addEventListener("click", async () => {
    if (!confirm("Reset the target now? Nobody holds the hill afterwards.")) return;
    const answer = await send("POST", `/api/v1/koth/${id}/reset`, {});
    if (answer.errors) return toast(sentence(answer.errors), "danger");
    toast("The target is reset as soon as no poll is under way.", "success");
  });

  const taken = document.getElementById("void-form");
  taken?.addEventListener("submit", async (event) => {
    event.preventDefault();
    const { from, to, reason } = taken.elements;
    const body = { from: from.valueAsNumber, to: to.valueAsNumber, reason: reason.value };
    const answer = await send("POST", `/api/v1/koth/${id}/void`, body);
    showErrors(taken, answer.errors);
    if (!answer.errors) location.reload();
  });
  document.addEventListener("click", async (event) => {
    const { undo } = event.target.dataset ?? {};
    if (!undo) return;
    const answer = await send("DELETE", `/api/v1/koth/${id}/void/${undo}`);
    if (answer.errors) return toast(sentence(answer.errors), "danger");
    location.reload();
  });

  const add = (parent, tag, text, className) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (className) element.className = className;
    return parent.appendChild(element);
  };

  document.getElementById("probe").addEventListener("click", async (event) => {
    const button = event.target;
    button.disabled = true;
    const answer = await send("POST", "/api/v1/koth/probe", settings());
    button.disabled = false;
    showErrors(form, answer.errors);
    if (answer.errors) return;
    show(answer.data);
  });

  const stepsInWords = {
    connect: "Connect to the agent",
    tls: "Check its certificate",
    claim: "Ask who holds the target",
    health: "Check its health",
    target: "Look at the target from outside",
  };

  function show(probe) {
    result.replaceChildren();
    result.hidden = false;
    add(result, "h2", `The hill would be: ${probe.outcome}`);
    if (probe.detail) add(result, "p", probe.detail);
    const steps = add(result, "ol", undefined, "probe");
    for (const step of probe.steps ?? []) {
      const line = add(steps, "li", undefined, step.ok ? "ok" : "failed");
      add(line, "span", step.ok ? "✓" : "✗", "mark").setAttribute("aria-label", step.ok ? "passed" : "failed");
      const text = add(line, "div");
      add(text, "strong", stepsInWords[step.step] ?? step.step);
      if (step.detail) add(text, "p", step.detail);
      if (step.body) add(text, "pre", step.body);
    }
    const facts = add(result, "dl", undefined, "facts");
    const fact = (name, value) => {
      if (value === null || value === undefined || value === "") return;
      const pair = add(facts, "div");
      add(pair, "dt", name);
      add(pair, "dd", String(value));
    };
    fact("Status", probe.status);
    fact("Latency", probe.latency_ms === null ? null : `${probe.latency_ms} ms`);
    fact("Identifier", probe.identifier);
    fact("Stands for", probe.account && `${probe.account.name} (by ${probe.matched_by})`);
    fact("Signed", probe.signed === null ? null : probe.signed ? "yes" : "no: an older agent");
    fact("Certificate", probe.fingerprint);
    result.focus();
  }
})();
