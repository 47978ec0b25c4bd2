"use strict";
// Opens challenges in a window over the list, and keeps the address in step: #<name>-<id>.
(() => {
  const win = document.getElementById("challenge-window");
  if (!win || !window.htmx) return;
  let opener = null;

  const tile = (id) => document.getElementById(`challenge-${id}`);

  win.addEventListener("htmx:after:swap", show);
  document.addEventListener("htmx:before:request", (event) => {
    const link = event.detail.ctx.sourceElement;
    if (link.matches?.(".tile")) opener = link;
  });
  document.addEventListener("htmx:after:swap", show);

  function show() {
    const challenge = win.querySelector(".challenge");
    if (!challenge) return;
    if (!win.open) win.showModal();
    const { id, name, solved } = challenge.dataset;
    history.replaceState(null, "", `#${encodeURIComponent(name)}-${id}`);
    if (solved !== undefined) markSolved(id);
  }

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
    if (link) link.click();
  }
  window.addEventListener("hashchange", openFromAddress);
  // htmx takes up the links once the document is there; this script runs after it.
  document.addEventListener("htmx:after:process", openFromAddress, { once: true });
})();
