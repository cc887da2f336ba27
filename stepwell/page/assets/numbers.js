// A number of an answer that is followed is marked in what its cell printed, and a wide output is moved to it.
function text(root) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT), found = [];
  while (walker.nextNode()) found.push(walker.currentNode);
  return found;
}

const plain = (written) => written.replace(/[^\d.]/g, "").replace(/^0+(?=\d)/, "");

function alike(written, wanted) { // 15529.94 and 15,529.94; 0.5406 and 0.541; 15,530 and 15529.94
  const one = plain(written), other = plain(wanted);
  if (one === other) return true;
  const digits = (other.split(".")[1] ?? "").length;
  const percent = wanted.endsWith("%") && !written.endsWith("%") ? 100 : 1;
  return one !== "" && (Number(one) * percent).toFixed(digits) === Number(other).toFixed(digits);
}

function mark(cell, wanted) {
  for (const output of cell.querySelectorAll("pre.output, .frame, .values dd")) {
    for (const node of text(output)) {
      for (const match of node.data.matchAll(/\d[\d,]*(?:\.\d+)?%?/g)) {
        if (!alike(match[0], wanted)) continue;
        const range = new Range();
        range.setStart(node, match.index);
        range.setEnd(node, match.index + match[0].length);
        CSS.highlights.set("number", new Highlight(range));
        const details = node.parentElement.closest("details");
        if (details) details.open = true;
        const at = range.getBoundingClientRect(), box = output.getBoundingClientRect();
        if (at.right > box.right || at.left < box.left) output.scrollLeft += at.left - box.left - box.width / 2;
        if (at.bottom > innerHeight || at.top < 0) node.parentElement.scrollIntoView({ block: "center" });
        if (at.bottom > box.bottom || at.top < box.top) output.scrollTop += at.top - box.top - box.height / 2;
        return;
      }
    }
  }
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a.number");
  const cell = link && document.getElementById(link.hash.slice(1));
  if (!cell || !window.Highlight) return;
  CSS.highlights.clear();
  setTimeout(() => mark(cell, link.textContent)); // once the browser has gone there
});
