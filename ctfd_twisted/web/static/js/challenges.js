"use strict";
// Opens challenges in a window over the list, and keeps the address in step: #<name>-<id>.
(() => {
  const win = document.getElementById("challenge-window");
  if (!win || !window.htmx) return;
  let opener = null;

  const tile = (id) => document.getElementById(`challenge-${id}`);

  document.addEventListener("htmx:before:request", (event) => {
    const link = event.detail.ctx.sourceElement;
    if (link.matches?.(".tile")) opener = link;
  });

  // An answer that is no challenge (the session is over, the competition ended) is shown as the page that it is.
  document.addEventListener("htmx:before:swap", (event) => {
    const { ctx } = event.detail;
    if (ctx.text.includes('<article class="challenge"') && !ctx.text.includes("<!doctype")) return;
    event.preventDefault();
    location.assign(ctx.request.action);
  });

  document.addEventListener("htmx:after:swap", () => {
    const challenge = document.querySelector(".challenge");
    if (!challenge) return;
    const { id, name, solved } = challenge.dataset;
    if (solved !== undefined) markSolved(id);
    if (!win.contains(challenge)) return;
    if (!win.open) win.showModal();
    history.replaceState(null, "", `#${encodeURIComponent(name)}-${id}`);
  });

  function markSolved(id) {
    const mark = tile(id);
    if (!mark || mark.classList.contains("is-solved")) return;
    mark.classList.add("is-solved");
    mark.querySelector("[data-solved-text]").textContent = "Solved. ";
  }

  win.addEventListener("close", () => {
    win.replaceChildren();
    history.replaceState(null, "", location.pathname);
    opener?.focus();
  });
  win.addEventListener("click", (event) => {
    // A click on the backdrop hits the dialog itself.
    if (event.target === win || event.target.closest("[data-close]")) {
      event.preventDefault();
      win.close();
    }
  });

  function openFromAddress() {
    const found = /-(\d+)$/.exec(decodeURIComponent(location.hash));
    const link = found && tile(found[1]);
    if (link && !win.open) link.click();
  }
  window.addEventListener("hashchange", openFromAddress);
  // htmx takes up the links once the document is there; this script runs before that.
  document.addEventListener("htmx:after:process", openFromAddress, { once: true });
})();
