"use strict";
// What happens, as it happens: notifications everywhere, and the board and the kings where a page shows them.
// Without it every page is complete; the board then renews itself every minute.
(() => {
  const { config, ui } = window.CTFd;
  const SEEN = "notifications-seen";
  const RETRY = 60_000;

  // --- Notifications: a number beside their link, and what is new at the corner of the page.

  const badge = document.getElementById("unread");

  function seen(id) {
    try {
      if (id !== undefined) localStorage.setItem(SEEN, String(Math.max(id, seen())));
      return Number(localStorage.getItem(SEEN)) || 0;
    } catch {
      return 0; // Then all of them count as new.
    }
  }

  function showUnread(count) {
    if (!badge) return;
    badge.hidden = !count;
    badge.textContent = count > 99 ? "99+" : String(count);
    badge.nextElementSibling.textContent = count ? `, ${count} unread` : "";
    const box = badge.closest("details")?.querySelector("summary");
    if (box) box.toggleAttribute("data-unread", Boolean(count));
  }

  async function countUnread() {
    try {
      const answer = await window.CTFd.fetch(`/api/v1/notifications?since_id=${seen()}`, { method: "HEAD" });
      if (answer.ok) showUnread(Number(answer.headers.get("Result-Count")) || 0);
    } catch {
      // The server can't be reached; the next try tells.
    }
  }

  // Whoever looks at the page of notifications has seen them all.
  async function readAll() {
    const answer = await window.CTFd.fetch(`/api/v1/notifications?since_id=${seen()}`).catch(() => null);
    if (!answer?.ok) return;
    const { data } = await answer.json();
    seen(Math.max(0, ...data.map((notice) => notice.id)));
    showUnread(0);
  }

  const look = () => (document.querySelector("[data-notices]") ? readAll() : countUnread());

  function note(notice) {
    look();
    if (notice.type === "background") return;
    ui.toast(notice.title ?? "", "info", { href: `${config.urlRoot}/notifications`, stays: notice.type !== "toast" });
    if (notice.sound) {
      const sound = new Audio((config.eventSounds ?? []).find((path) => path.includes(".mp3")) ?? "");
      sound.play?.().catch(() => {}); // Browsers are silent until somebody has clicked.
    }
  }

  // --- The board: rows keep their elements, which move, appear and go.

  // htmx puts another in its place when it renews the graph, so it is looked for each time.
  const board = () => document.getElementById("standings");
  let rows = null;
  let stale = false; // Whether the graph beside the rows is older than they are.

  function change({ rows: moved, gone }) {
    if (!rows) return;
    const left = new Set([...gone, ...moved.map((row) => row.account_id)]);
    rows = rows.filter((row) => !left.has(row.account_id));
    for (const row of moved) rows.splice(row.place - 1, 0, row);
    draw(new Set(moved.map((row) => row.account_id)));
  }

  const grouped = (number) =>
    Math.abs(number) >= 10_000 ? String(number).replace(/\B(?=(\d{3})+$)/g, "\u202f") : String(number);

  function draw(moved) {
    const standings = board();
    if (!rows || !standings) return;
    // Nothing moves under the hands of somebody who is in it by keyboard.
    if (standings.contains(document.activeElement)) {
      standings.addEventListener("focusout", () => setTimeout(() => draw(new Set())), { once: true });
      return;
    }
    const { bracket, word } = standings.dataset;
    const visible = bracket ? rows.filter((row) => String(row.bracket_id) === bracket) : rows;
    const body = standings.querySelector(".board tbody");
    if (!body || !visible.length) {
      if (Boolean(body) !== Boolean(visible.length)) renew();
      return;
    }
    const known = new Map([...body.rows].map((line) => [Number(line.dataset.account), line]));
    visible.forEach((row, index) => {
      const line = known.get(row.account_id) ?? newLine(standings.dataset, body.rows[0], row);
      known.delete(row.account_id);
      line.querySelector(".place").textContent = String(index + 1);
      line.querySelector(".score").textContent = grouped(row.score);
      line.querySelector("a").textContent = row.name;
      line.classList.toggle("top", index < 3);
      line.classList.toggle("moved", moved.has(row.account_id));
      if (body.rows[index] !== line) body.insertBefore(line, body.rows[index] ?? null);
    });
    known.forEach((line) => line.remove());
    const count = document.getElementById("standing-count");
    if (count) count.textContent = `${grouped(visible.length)} ${word}${visible.length === 1 ? "" : "s"}`;
  }

  function newLine({ kind, brackets }, model, row) {
    const line = model.cloneNode(true);
    line.dataset.account = String(row.account_id);
    line.removeAttribute("data-own");
    line.querySelector(".tag")?.remove();
    const link = line.querySelector("a");
    link.href = `${config.urlRoot}/${kind}s/${row.account_id}`;
    const bracket = line.querySelector(".extra");
    if (bracket) bracket.textContent = JSON.parse(brackets)[row.bracket_id] ?? "";
    const mine = config.userMode === "teams" ? config.teamId : config.userId;
    if (mine && row.account_id === mine) {
      line.dataset.own = "";
      const text = config.userMode === "teams" ? "your team" : "you";
      link.after(" ", Object.assign(document.createElement("span"), { className: "tag", textContent: text }));
    }
    return line;
  }

  // The first row of all needs a table, which the server draws.
  async function renew() {
    const answer = await fetch(location.href, { credentials: "same-origin" }).catch(() => null);
    if (!answer?.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const part = page.getElementById("standings");
    if (part) board().replaceChildren(...part.childNodes);
    ui.enhance(board());
  }

  // What the page would ask for every minute has nothing new while the stream says so.
  document.addEventListener("htmx:before:request", (event) => {
    const part = event.detail.ctx.sourceElement;
    if (part?.id !== "standings" || !isOpen()) return;
    if (stale) stale = false;
    else event.preventDefault();
  });
  document.addEventListener("htmx:after:swap", () => draw(new Set()));

  // --- Kings: on tiles, in the opened hill, and in the administrators' list.

  function crown({ challenge_id: id, king, since }) {
    for (const place of document.querySelectorAll(`[data-king="${id}"]`)) {
      place.textContent = king ? king.name : place.dataset.nobody;
    }
    for (const place of document.querySelectorAll(`[data-throne="${id}"]`)) {
      const name = document.createElement("strong");
      name.textContent = king ? king.name : "Nobody holds this hill.";
      place.replaceChildren(name);
      if (!king) continue;
      place.append(" holds this hill");
      if (since) {
        const time = Object.assign(document.createElement("time"), { dateTime: since });
        time.textContent = `${since.slice(0, 16).replace("T", " ")} UTC`;
        place.append(" since ", time);
      }
      place.append(".");
      ui.enhance(place);
    }
  }

  // --- The stream: one for each window that is looked at, because browsers open few connections to one server.

  const channels = ["notifications"];
  if (board()) channels.push("scoreboard");
  if (document.querySelector("[data-king], [data-throne]")) channels.push("koth");
  const hears = {
    notification: note,
    scoreboard: (data) => {
      stale = true;
      change(data);
    },
    koth: crown,
    snapshot: (data) => {
      if (!data.visible) return;
      if (data.channel === "scoreboard") {
        stale = stale || rows !== null;
        rows = data.rows;
        draw(new Set());
      }
      if (data.channel === "koth") data.hills.forEach(crown);
      if (data.channel === "notifications") look();
    },
  };
  let source = null;
  let last = "";
  let again = 0;

  const isOpen = () => source?.readyState === EventSource.OPEN;

  function listen() {
    clearTimeout(again);
    if (source || document.hidden || !window.EventSource) return;
    const since = last ? `&last_event_id=${encodeURIComponent(last)}` : "";
    source = new EventSource(`${config.urlRoot}/events?channels=${channels.join(",")}${since}`);
    for (const [name, hear] of Object.entries(hears)) {
      source.addEventListener(name, (event) => {
        last = event.lastEventId || last;
        hear(JSON.parse(event.data));
      });
    }
    source.addEventListener("error", () => {
      if (source?.readyState !== EventSource.CLOSED) return; // It connects again by itself.
      // The server does not tell events, or not to so many: then it is asked now and then.
      rest();
      look();
      again = setTimeout(listen, RETRY);
    });
  }

  function rest() {
    source?.close();
    source = null;
    clearTimeout(again);
  }

  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      rest();
    } else {
      look();
      listen();
    }
  });
  // A page that the browser keeps for the way back must not keep a connection.
  window.addEventListener("pagehide", rest);
  window.addEventListener("pageshow", listen);
  look();
})();
