// Follows a run: puts what the server sends in its place, counts the seconds, and keeps in view what matters now.
const near = () => window.innerHeight + window.scrollY > document.body.scrollHeight - 200;

function put({ id, html, parent }) {
  const made = new DOMParser().parseFromString(html, "text/html").body.firstElementChild; // in which no script runs
  const there = document.getElementById(id);
  const follow = near();
  if (there) {
    const ended = there.matches(".cell.running") && !made.matches(".running"); // its code is folded now
    const open = ended ? [] : [...there.querySelectorAll("details")].map((one) => one.open);
    const at = there.scrollTop, end = there.scrollHeight - there.clientHeight - at < 20;
    there.replaceWith(made);
    [...made.querySelectorAll("details")].forEach((one, place) => { if (place in open) one.open = open[place]; });
    made.scrollTop = end ? made.scrollHeight : at;
  } else document.getElementById(parent)?.append(made);
  // Only what happens is read out, not the seconds and not what a model is writing.
  const said = document.getElementById("said"), now = document.querySelector("#now strong")?.textContent;
  if (id === "now" && said.textContent !== now) said.textContent = now;
  if (follow) window.scrollTo({ top: document.body.scrollHeight });
  if (id === "now") tick();
}

function tick() {
  for (const clock of document.querySelectorAll(".clock")) {
    const passed = Math.max(0, Math.round(Date.now() / 1000 - clock.dataset.since));
    clock.textContent = passed < 60 ? `${passed} s` : `${Math.floor(passed / 60)} min ${String(passed % 60).padStart(2, "0")} s`;
  }
}

let kept; // what stays where it is while cells and pictures above it find their size, until somebody moves
function keep(one, block) {
  kept?.disconnect();
  kept = new ResizeObserver(() => one.scrollIntoView({ block }));
  kept.observe(document.body);
  one.scrollIntoView({ block });
}
for (const name of ["wheel", "pointerdown", "keydown", "touchstart"]) window.addEventListener(name, () => kept?.disconnect(), { passive: true });

function lost(words) {
  const live = document.getElementById("live"), now = document.querySelector("#now p");
  if (!live || live.classList.contains("lost")) return;
  live.classList.add("lost");
  now.textContent = words;
  document.getElementById("said").textContent = words;
}

async function renew() {
  let answer;
  try {
    answer = await fetch(document.getElementById("live")?.dataset.here ?? location.href); // which a form may have been sent to
  } catch {
    lost("There is no connection to Stepwell: it was ended, or the network is gone. What was done is kept.");
    setTimeout(renew, 3000);
    return;
  }
  if (answer.status === 403) {
    lost("Stepwell was started again: open the address that it has printed.");
    return;
  }
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const at = window.scrollY;
  document.getElementById("main").replaceWith(page.getElementById("main"));
  document.title = page.title;
  window.scrollTo({ top: at });
  const next = document.querySelector(".decide h2, main [role=alert], .turn:last-of-type .answer");
  if (next) {
    next.tabIndex = -1;
    next.focus({ preventScroll: true });
    const answered = next.matches(".answer");
    keep(answered ? next.parentElement : next, answered ? "start" : "center");
  }
  document.dispatchEvent(new Event("renewed"));
  follow();
}

function follow() {
  const live = document.getElementById("live");
  if (!live) return;
  const source = new EventSource(`${live.dataset.events}&seen=${live.dataset.seen}`);
  source.addEventListener("put", (event) => put(JSON.parse(event.data)));
  source.addEventListener("end", () => { source.close(); renew(); });
  source.addEventListener("error", () => { if (source.readyState === EventSource.CLOSED) renew(); });
  window.addEventListener("pagehide", () => source.close());
}

tick();
setInterval(tick, 1000);
follow();
const latest = document.getElementById("latest");
// While it runs, what runs stands above it, and below it files that were made before.
if (location.hash === "#latest" && latest) keep(latest, document.getElementById("live") ? "end" : "start");
