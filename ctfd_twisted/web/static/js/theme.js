// Runs before anything is painted, so that a page never flashes in the wrong colours.
(() => {
  try {
    const chosen = localStorage.getItem("theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // Storage may be refused; the system's preference stays.
  }
})();
