// Files are sent as soon as they are chosen or dropped, and shown while they arrive.
function watch(field) {
  const input = field.querySelector("input[type=file]"), list = field.querySelector(".given");
  if (!input || field.dataset.watched) return;
  field.dataset.watched = "1";
  field.classList.add("sends");
  const button = field.closest("form").querySelector("button.first");
  let sending = 0;

  function send(file) {
    const line = document.createElement("li"), bar = document.createElement("progress"), request = new XMLHttpRequest();
    line.append(`${file.name} `, bar);
    list.append(line);
    bar.max = 1;
    bar.setAttribute("aria-label", `Sending ${file.name}`);
    request.upload.onprogress = (event) => { if (event.total) bar.value = event.loaded / event.total; };
    request.onloadend = () => {
      button.disabled = --sending > 0;
      let told = {};
      try { told = JSON.parse(request.responseText); } catch { /* no answer */ }
      if (request.status === 201) {
        const label = document.createElement("label"), box = document.createElement("input"), size = document.createElement("small");
        Object.assign(box, { type: "checkbox", name: "file", value: told.file, checked: true });
        label.append(box, ` ${told.name}`);
        size.textContent = told.shown;
        line.replaceChildren(label, " ", size);
      } else {
        line.className = "problem";
        line.textContent = `${file.name}: ${told.detail || "it could not be sent; try again."}`;
      }
    };
    button.disabled = ++sending > 0;
    request.open("PUT", `${field.dataset.uploads}?name=${encodeURIComponent(file.name)}`);
    request.send(file);
  }

  function take() { // also what was chosen before this was loaded
    [...input.files].forEach(send);
    input.value = "";
  }
  input.addEventListener("change", take);
  take();
  field.addEventListener("dragover", (event) => { event.preventDefault(); field.classList.add("over"); });
  field.addEventListener("dragleave", () => field.classList.remove("over"));
  field.addEventListener("drop", (event) => {
    event.preventDefault();
    field.classList.remove("over");
    [...event.dataTransfer.files].forEach(send);
  });
}

// One press of a button is one question.
document.addEventListener("submit", (event) => setTimeout(() => event.target.querySelectorAll("button").forEach((one) => { one.disabled = true; })));
window.addEventListener("pageshow", (event) => { if (event.persisted) document.querySelectorAll("button").forEach((one) => { one.disabled = false; }); });

const all = () => document.querySelectorAll(".drop").forEach(watch);
for (const name of ["dragover", "drop"]) window.addEventListener(name, (event) => event.preventDefault());
document.addEventListener("renewed", all);
all();
