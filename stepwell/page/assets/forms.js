// Forms: Ctrl and Enter send one, what opens takes the cursor, and one that was sent says so.
document.addEventListener("keydown", (event) => {
  const field = event.target;
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || field.tagName !== "TEXTAREA") return;
  event.preventDefault();
  const button = field.form.querySelector("button.first, button:not([type=button])");
  if (!button.disabled) field.form.requestSubmit(button);
});

document.addEventListener("toggle", (event) => {
  if (event.target.open) event.target.querySelector(":scope > form textarea, :scope > form input:not([type=hidden])")?.focus();
}, true);

document.addEventListener("submit", (event) => event.target.classList.add("sent"));
window.addEventListener("pageshow", () => document.querySelectorAll("form.sent").forEach((one) => one.classList.remove("sent")));
