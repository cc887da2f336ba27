// While code runs at a step's prompt, what it prints is looked at again every second.
async function look() {
  const there = document.getElementById("tried");
  if (!there?.dataset.busy) return;
  const answer = await fetch(there.dataset.at).catch(() => null); // the next look may find a connection
  const made = answer?.ok && new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("tried");
  if (made && made.innerHTML !== there.innerHTML) {
    const focused = there.contains(document.activeElement);
    there.replaceWith(made);
    if (focused) made.querySelector("button, pre")?.focus();
  }
  setTimeout(look, 1000);
}
look();
