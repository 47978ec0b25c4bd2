"use strict";
// The administrators' pages of webhooks: every button is one call of the REST API.
(() => {
  const { send, toast, showErrors } = window.CTFd.ui;
  const base = "/api/v1/webhooks";
  const sentence = (errors) => Object.values(errors).flat().join(" ");
  const page = (path) => `${window.CTFd.config.urlRoot}${path}`;

  function report(place, kind, text, detail) {
    const box = document.createElement("div");
    box.className = `alert alert-${kind}`;
    const span = box.appendChild(document.createElement("span"));
    span.textContent = text;
    if (detail) span.appendChild(document.createElement("pre")).textContent = detail;
    place.replaceChildren(box);
  }

  const actions = {
    async validate(id, place) {
      const answer = await send("POST", `${base}/${id}/validate`, {});
      if (answer.errors) return report(place, "danger", sentence(answer.errors));
      location.reload();
    },
    async test(id, place) {
      const answer = await send("POST", `${base}/${id}/test`, {});
      if (answer.errors) return report(place, "danger", sentence(answer.errors));
      const { status, latency_ms: latency, error, answer: body } = answer.data;
      const fine = status >= 200 && status < 300;
      const text = status ? `Answered ${status} in ${latency} ms.` : `No answer: ${error}`;
      report(place, fine ? "success" : "danger", text, body);
    },
    async redeliver(id, place) {
      const answer = await send("POST", `${base}/${id}/redeliver`, {});
      if (answer.errors) return report(place, "danger", sentence(answer.errors));
      location.reload();
    },
    async remove(id, place) {
      if (!confirm("Remove this endpoint?")) return;
      let answer = await send("DELETE", `${base}/${id}`);
      if (answer.errors?.force && confirm(`${sentence({ force: answer.errors.force })}\n\nRemove it all the same?`)) {
        answer = await send("DELETE", `${base}/${id}?force=true`);
      }
      if (answer.errors) return report(place, "danger", sentence(answer.errors));
      location.href = page("/admin/webhooks");
    },
  };

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    const part = button.closest("[data-endpoint]");
    if (part && button.dataset.action) {
      button.disabled = true;
      await actions[button.dataset.action](part.dataset.endpoint, part.querySelector(".result"));
      button.disabled = false;
    } else if (button.dataset.redeliver) {
      const path = `${base}/${button.dataset.of}/deliveries/${button.dataset.redeliver}/redeliver`;
      const answer = await send("POST", path, {});
      if (answer.errors) return toast(sentence(answer.errors), "danger");
      toast("It will be sent again at once.", "success");
    }
  });

  const form = document.getElementById("endpoint-form");
  form?.addEventListener("submit", async (event) => {
    event.preventDefault();
    const { url, description, standard_webhooks: standard } = form.elements;
    const body = {
      url: url.value.trim(),
      description: description.value.trim() || null,
      events: [...form.querySelectorAll("[name=events]:checked")].map((box) => box.value),
      standard_webhooks: standard.checked,
    };
    const { id } = form.dataset;
    const answer = id ? await send("PATCH", `${base}/${id}`, body) : await send("POST", base, body);
    showErrors(form, answer.errors);
    if (!answer.errors) location.href = page(`/admin/webhooks/${answer.data.id}`);
  });

  const rotate = document.getElementById("rotate-form");
  rotate?.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!confirm("Replace the shared secret? Every receiver then needs the new one.")) return;
    const overlap = Number(rotate.elements.overlap_seconds.value);
    const answer = await send("POST", `${base}/secret/rotate`, { overlap_seconds: overlap });
    showErrors(rotate, answer.errors);
    if (!answer.errors) location.reload();
  });
})();
