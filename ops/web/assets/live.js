// Keeps the page up to date with the store, and handles keys. Without this script the page reloads itself.

const note = document.getElementById("live");
const say = (text, state) => { note.textContent = text; note.dataset.state = state; };

// refresh reloads the page in the background and replaces the parts that have changed. The focus stays.
const nameOf = (e) => e.getAttribute("href") ?? `${e.name} ${e.value}`;
let reading = false, again = false;
async function refresh() {
  if (reading) { again = true; return; }
  reading = true;
  try {
    const answer = await fetch(location.href, { headers: { "X-Live": "1" }, redirect: "follow" });
    if (new URL(answer.url).pathname === "/login") { signedOut(); return; }
    if (!answer.ok && answer.status !== 404) return;
    const next = new DOMParser().parseFromString(await answer.text(), "text/html");
    const chosen = getSelection();
    for (const old of document.querySelectorAll("[data-live]")) {
      const part = next.getElementById(old.id);
      if (!part || part.outerHTML === old.outerHTML) continue;
      if (!chosen.isCollapsed && old.contains(chosen.anchorNode)) continue; // it is being copied
      // A form is kept as long as its state is, and while a person fills it in: the server refuses it if the state has changed.
      if (old.dataset.key && old.dataset.key === part.dataset.key || old.querySelector("details[open]") || old.querySelector("form input:focus:not([type=checkbox])")) continue;
      const held = old.contains(document.activeElement) ? nameOf(document.activeElement) : null;
      const picked = new Set([...old.querySelectorAll("input:checked")].map((box) => box.value));
      const scrolled = [...old.querySelectorAll(".scroll")].map((box) => box.scrollLeft);
      old.replaceWith(document.adoptNode(part));
      [...part.querySelectorAll(".scroll")].forEach((box, i) => { box.scrollLeft = scrolled[i] || 0; });
      for (const box of part.querySelectorAll("input[type=checkbox]")) box.checked = picked.has(box.value);
      if (held) [...part.querySelectorAll("a, input, button")].find((e) => nameOf(e) === held)?.focus({ preventScroll: true });
    }
    mark();
    say("live", "on");
  } catch { say("not reached", "off"); } finally {
    reading = false;
    if (again) { again = false; setTimeout(refresh, 200); }
  }
}

let stream = null, ended = false;
function signedOut() {
  ended = true;
  close();
  say("signed out", "off");
}
function close() { if (stream) { stream.close(); stream = null; } }

// open follows the stream. After an error it checks once whether the session is alive before it connects again.
function open() {
  if (stream || ended || document.hidden) return;
  stream = new EventSource("/events");
  stream.addEventListener("hello", () => { say("live", "on"); refresh(); });
  stream.addEventListener("change", refresh);
  stream.addEventListener("end", signedOut);
  stream.onerror = async () => {
    close();
    say("not reached", "off");
    try {
      const probe = await fetch("/api/v1/status");
      if (probe.status === 401) { signedOut(); return; }
    } catch { /* the server is away: it may come back */ }
    setTimeout(open, 3000 + Math.random() * 2000);
  };
}
document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
addEventListener("pagehide", close);
open();

// The row selected with j and k, by the address of its link, so that it survives a refresh.
let reached = null;
const rows = () => [...document.querySelectorAll("[data-row]")];
const linkOf = (row) => row.querySelector("[data-open]") || row.querySelector("a");
function mark() {
  for (const row of rows()) row.classList.toggle("at", reached !== null && linkOf(row)?.getAttribute("href") === reached);
}
function move(by) {
  const all = rows();
  if (!all.length) return;
  const at = all.findIndex((row) => row.classList.contains("at"));
  const row = all[Math.max(0, Math.min(all.length - 1, at + by))];
  reached = linkOf(row)?.getAttribute("href") ?? null;
  mark();
  row.scrollIntoView({ block: "nearest" });
  linkOf(row)?.focus({ preventScroll: true });
}

let prefix = 0;
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input:not([type=checkbox]), select, textarea")) return;
  const go = performance.now() - prefix < 1500;
  prefix = 0;
  const pages = { o: "/", j: "/jobs", r: "/runs", n: "/nodes", a: "/audit" };
  if (go && pages[event.key]) { location.href = pages[event.key]; return; }
  switch (event.key) {
    case "g": prefix = performance.now(); break;
    case "/": {
      event.preventDefault();
      const field = document.getElementById("q");
      if (field) field.focus(); else location.href = "/jobs#q";
      break;
    }
    case "j": move(1); break;
    case "k": move(-1); break;
    case "x": document.querySelector("tr.at input[type=checkbox]")?.click(); break;
  }
});
if (location.hash === "#q") document.getElementById("q")?.focus();
