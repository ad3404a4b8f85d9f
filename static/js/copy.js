/* Puts a button under each text that is meant to be copied (data-copy). Without this script it can be selected as any text. */
(() => {
  "use strict";

  async function copy(text, status) {
    try {
      await navigator.clipboard.writeText(text.textContent);
      status.textContent = "Copied.";
    } catch { // no clipboard on a page without TLS, or not allowed
      window.getSelection().selectAllChildren(text);
      status.textContent = "Selected: copy it with the keyboard.";
    }
  }

  function offer(text) {
    const [line, button, status] = ["p", "button", "span"].map((name) => document.createElement(name));
    line.className = "exports small";
    button.type = "button";
    button.className = "link";
    button.textContent = "Copy";
    button.setAttribute("aria-label", `Copy: ${text.getAttribute("aria-label")}`);
    status.setAttribute("role", "status");
    button.addEventListener("click", () => copy(text, status));
    line.append(status, " ", button);
    text.after(line);
  }

  function offerAll() {
    document.querySelectorAll("main pre[data-copy]").forEach((text) => {
      if (!text.nextElementSibling?.matches(".exports")) {
        offer(text);
      }
    });
  }

  offerAll();
  document.body.addEventListener("htmx:afterSettle", offerAll);
})();
