// Keeps the page up to date with the store, and handles keys. Without this script the page reloads itself.

const note = document.getElementById("live"), ageNote = document.getElementById("age");
const oldAfter = 10_000, readEvery = 15_000, answerWithin = 5_000, silentAtMost = 25_000; // milliseconds
let clock = 0, born = 0; // the store's clock at the last reading, and this browser's clock then
let state = "", why = ""; // "live": the stream is followed; "read": the page is read from time to time; "out": signed out

// known takes the time of a reading of the store, and its age.
function known(at, age) {
  clock = Number(at);
  born = clock > 0 ? Date.now() - Number(age) : 0;
  const shown = document.querySelector(".asof");
  if (shown && clock > 0) shown.textContent = new Date(clock).toISOString().slice(11, 19);
}
function say(next, text = "") { state = next; why = text; tick(); }

// tick shows how old the view is. An old view is not live: it has no green, and no countdown. Neither is one of a fleet without nodes, or of a
// store that does not answer: the server says so.
function tick() {
  const age = Math.max(0, Date.now() - born), old = age > oldAfter;
  document.documentElement.toggleAttribute("data-old", old);
  if (ageNote) ageNote.textContent = born ? `read ${short(age)} ago` : "never read";
  const dead = document.getElementById("facts")?.dataset.dead;
  const text = state === "live" ? (old ? "the view is old" : dead || "live") : why;
  if (note.textContent !== text) note.textContent = text;
  note.dataset.state = state === "live" && !old && !dead ? "on" : "off";
  for (const part of waiting.values()) replace(part);
  for (const end of document.querySelectorAll("time.until")) {
    const left = Date.parse(end.dateTime) - clock - age;
    end.textContent = old || dead ? end.dateTime.slice(11, 19) : left > 0 ? short(left) : "due";
  }
}
function short(ms) {
  const s = Math.floor(ms / 1000), m = Math.floor(s / 60), h = Math.floor(m / 60);
  return s < 60 ? `${s} s` : m < 60 ? `${m} min ${s % 60} s` : h < 48 ? `${h} h ${m % 60} min` : `${Math.floor(h / 24)} days`;
}

// replace replaces a part of the page by its new content. The focus stays. A part in use waits.
const waiting = new Map();
const nameOf = (e) => e.getAttribute("href") ?? `${e.name} ${e.value}`;
function replace(part) {
  const old = document.getElementById(part.id);
  waiting.set(part.id, part);
  const chosen = getSelection();
  if (old && !chosen.isCollapsed && old.contains(chosen.anchorNode)) return; // it is being copied
  // A form is kept as long as its state is, and while a person fills it in: the server refuses it if the state has changed.
  if (old?.querySelector("details[open]") || old?.querySelector("form input:focus:not([type=checkbox])")) return;
  waiting.delete(part.id);
  if (!old || old.dataset.key && old.dataset.key === part.dataset.key) return;
  const held = old.contains(document.activeElement) ? nameOf(document.activeElement) : null;
  const picked = new Set([...old.querySelectorAll("input:checked")].map((box) => box.value));
  const scrolled = [...old.querySelectorAll(".scroll")].map((box) => box.scrollLeft);
  old.replaceWith(document.adoptNode(part));
  [...part.querySelectorAll(".scroll")].forEach((box, i) => { box.scrollLeft = scrolled[i] || 0; });
  for (const box of part.querySelectorAll("input[type=checkbox]")) box.checked = picked.has(box.value);
  if (held) [...part.querySelectorAll("a, input, button")].find((e) => nameOf(e) === held)?.focus({ preventScroll: true });
}
function take(text) {
  const next = new DOMParser().parseFromString(text, "text/html");
  for (const part of next.querySelectorAll("[data-live]")) replace(part);
  mark();
  return next;
}

// read reads the whole page. Only here a session is found to have ended: the server then shows the form.
async function read() {
  try {
    const answer = await fetch(location.href, { signal: AbortSignal.timeout(answerWithin) });
    if (new URL(answer.url).pathname === "/login") { say("out", "signed out"); return; }
    if (!answer.ok && answer.status !== 404) { say("read", `the server refuses to show the page (${answer.status}), and is asked every 15 s`); return; }
    const { at, age } = take(await answer.text()).body.dataset;
    known(at, age);
    tick();
  } catch { say("read", "the server is not reached, and is asked every 15 s"); }
}

// follow follows the stream until it ends, and returns why it did not begin; nothing if it did.
let stream = null;
async function follow() {
  let began = false, timer = 0, text = "";
  stream = new AbortController();
  const patience = (ms) => { clearTimeout(timer); timer = setTimeout(() => stream.abort(), ms); };
  try {
    patience(answerWithin);
    const answer = await fetch("/events?page=" + encodeURIComponent(location.pathname + location.search), { signal: stream.signal });
    if (!answer.ok) return `live updates are refused (${answer.status})`;
    const body = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let part = await body.read(); !part.done; part = await body.read()) {
      patience(silentAtMost);
      const events = (text + part.value).split("\n\n");
      text = events.pop();
      for (const event of events) {
        if (event.startsWith("event: end")) {
          if (event.endsWith("session")) say("out", "signed out");
          return "too many pages are live";
        }
        const data = event.split("\ndata: ")[1];
        if (!data) continue;
        const change = JSON.parse(data);
        began = true;
        known(change.at, change.age);
        take((change.parts ?? []).join(""));
        say("live");
      }
    }
  } catch { /* not reached, or hidden */ } finally { clearTimeout(timer); stream.abort(); }
  return began ? "" : "live updates do not arrive";
}

// Between two tries to follow the stream the page is read. A stream that had begun is followed again soon.
const woken = (ms) => new Promise((done) => {
  const timer = ms && setTimeout(done, ms);
  document.addEventListener("visibilitychange", () => { clearTimeout(timer); done(); }, { once: true });
});
async function keepUp() {
  while (state !== "out") {
    if (document.hidden) { await woken(0); continue; }
    const began = Date.now(), fault = await follow();
    if (state === "out") return;
    if (document.hidden) continue;
    if (fault) { say("read", `${fault}: the page is read every 15 s`); await read(); }
    if (state !== "out") await woken(fault ? Math.max(1000, readEvery - (Date.now() - began)) : 1000 + Math.random() * 2000);
  }
}
document.addEventListener("visibilitychange", () => { if (document.hidden) stream?.abort(); else tick(); });
addEventListener("pagehide", () => stream?.abort());
known(document.body.dataset.at, document.body.dataset.age);
tick();
setInterval(tick, 1000);
keepUp();

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

let prefix = -Infinity; // when g was pressed, before a key that goes to a page
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input:not([type=checkbox]), select, textarea")) return;
  const go = performance.now() - prefix < 1500;
  prefix = -Infinity;
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
