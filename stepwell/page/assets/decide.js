// Shows what an edit of a waiting cell changes, while it is typed.
let waiting = 0;

function watch() {
  clearTimeout(waiting); // it was about what waited before
  const form = document.querySelector("form[data-diff]");
  if (!form) return;
  const shown = document.getElementById("difference");
  form.code.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(async () => {
      const answer = await fetch(form.dataset.diff, { method: "POST", body: new FormData(form) });
      if (answer.ok) shown.replaceChildren(...new DOMParser().parseFromString(await answer.text(), "text/html").body.children);
    }, 300);
  });
}
document.addEventListener("submit", () => clearTimeout(waiting)); // once it is decided, nothing waits to be compared with
document.addEventListener("renewed", watch);
watch();
