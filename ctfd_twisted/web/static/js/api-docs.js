// Finds operations by their words. The page is complete without it.
(() => {
  const place = document.getElementById("api-search");
  const input = document.getElementById("api-find");
  const told = document.getElementById("api-found");
  const sections = [...document.querySelectorAll(".api section")].map((section) => ({
    section,
    operations: [...section.querySelectorAll("details")].map((element) => ({
      element,
      words: element.querySelector("summary").textContent.toLowerCase(),
    })),
  }));

  function find() {
    const wanted = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    for (const { section, operations } of sections) {
      let here = 0;
      for (const { element, words } of operations) {
        element.hidden = !wanted.every((word) => words.includes(word));
        here += element.hidden ? 0 : 1;
      }
      section.hidden = wanted.length > 0 && here === 0;
      found += here;
    }
    told.textContent = wanted.length ? `${found} found` : "";
  }

  // A link to an operation opens it.
  function open() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target?.tagName === "DETAILS") target.open = true;
  }

  place.hidden = false;
  input.addEventListener("input", find);
  window.addEventListener("hashchange", open);
  open();
})();
