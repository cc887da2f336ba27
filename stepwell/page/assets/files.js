// Files are sent as soon as they are chosen or dropped, one after another, and shown while they arrive.
const { forget, send, Refused } = await import(`./tus.js${new URL(import.meta.url).search}`);

function sized(bytes) {
  let unit = 0;
  for (; bytes >= 1000 && unit < 4; unit++) bytes /= 1000;
  return `${bytes.toFixed(unit ? 1 : 0)} ${["B", "kB", "MB", "GB", "TB"][unit]}`;
}

function made(name, properties, ...inside) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...inside);
  return element;
}

function watch(field) {
  const input = field.querySelector("input[type=file]"), list = field.querySelector(".given");
  if (!input || field.dataset.watched) return;
  field.dataset.watched = "1";
  field.classList.add("sends");
  const button = field.closest("form").querySelector("button.first"), { most, uploads } = field.dataset;
  let before = Promise.resolve(), sending = 0;

  function add(file) {
    const line = made("li", {}), refuse = (why) => { line.className = "problem"; line.textContent = `${file.name}: ${why}`; };
    list.append(line);
    if (file.size > Number(most)) {
      const [much, may] = [file.size, Number(most)].map((bytes) => bytes.toLocaleString("en"));
      refuse(`${much} bytes are too many; one file may have ${may}.`);
      return;
    }
    const leaving = new AbortController(), bar = made("progress", { max: 1, value: 0 }), how = made("small", { textContent: sized(file.size) });
    const leave = made("button", { type: "button", textContent: "Leave it out", onclick: () => leaving.abort() });
    bar.setAttribute("aria-label", `Sending ${file.name}`);
    leave.setAttribute("aria-label", `Leave ${file.name} out`);
    line.append(`${file.name} `, bar, " ", how, " ", leave);
    button.disabled = ++sending > 0;

    function told(share, lost) {
      if (share !== null) bar.value = share;
      const said = lost ? "no connection; it goes on where it was" : `${Math.floor(bar.value * 100)} % of ${sized(file.size)}`;
      how.setAttribute("aria-live", lost ? "polite" : "off"); // not every hundredth is read out
      if (how.textContent !== said) how.textContent = said;
    }
    before = before.then(async () => {
      try {
        const sent = await send(file, uploads, leaving.signal, told);
        const box = made("input", { type: "checkbox", name: "file", value: sent.file, checked: true });
        line.replaceChildren(made("label", {}, box, ` ${sent.name}`), " ", made("small", { textContent: sized(file.size) }));
        const remark = await fetch(`${sent.url}/remark`).then((answer) => (answer.ok ? answer.text() : "")).catch(() => "");
        if (remark) line.append(made("p", { className: "problem", textContent: remark }));
      } catch (error) {
        if (leaving.signal.aborted) {
          line.remove();
          await forget(file, uploads).catch(() => {}); // it is swept away one day
        } else refuse(error instanceof Refused ? error.message : "it cannot be read; is it still there?");
      } finally {
        button.disabled = --sending > 0;
      }
    });
  }

  function take() { // also what was chosen before this was loaded
    [...input.files].forEach(add);
    input.value = "";
  }
  input.addEventListener("change", take);
  take();
  field.addEventListener("dragover", (event) => { event.preventDefault(); field.classList.add("over"); });
  field.addEventListener("dragleave", () => field.classList.remove("over"));
  field.addEventListener("drop", (event) => {
    event.preventDefault();
    field.classList.remove("over");
    [...event.dataTransfer.files].forEach(add);
  });
}

// One press of a button is one question.
document.addEventListener("submit", (event) => setTimeout(() => event.target.querySelectorAll("button").forEach((one) => { one.disabled = true; })));
window.addEventListener("pageshow", (event) => { if (event.persisted) document.querySelectorAll("button").forEach((one) => { one.disabled = false; }); });

const all = () => document.querySelectorAll(".drop").forEach(watch);
for (const name of ["dragover", "drop"]) window.addEventListener(name, (event) => event.preventDefault());
document.addEventListener("renewed", all);
all();
