/* What every page does beside its own: it says that an answer did not come, offers to copy what is meant for it, and shows
   where a number comes from. */
/* Says so when an answer did not come: htmx itself keeps silent and leaves the page as it was. */
(() => {
  "use strict";

  function say(text) {
    const place = document.getElementById("failure");
    if (place) {
      place.textContent = text;
    }
  }

  document.body.addEventListener("htmx:beforeRequest", () => say(""));
  document.body.addEventListener("htmx:sendError", () => say("The server cannot be reached. Ask again in a moment."));
  document.body.addEventListener("htmx:responseError", () => say("The server could not answer. Ask again in a moment."));
})();

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

/* Shows where a number comes from while the pointer or the focus is on it (data-provenance); Escape puts it away.
   Without this script the browser shows the title. */
(() => {
  "use strict";

  const tip = document.createElement("div");
  tip.id = "provenance";
  tip.className = "tip";
  tip.setAttribute("role", "tooltip");
  tip.hidden = true;
  document.body.append(tip);
  let owner = null;

  function hide() {
    owner?.removeAttribute("aria-describedby");
    owner = null;
    tip.hidden = true;
  }

  function show(element) {
    hide();
    owner = element;
    element.removeAttribute("title");
    element.setAttribute("aria-describedby", tip.id);
    tip.textContent = element.dataset.provenance;
    tip.hidden = false;
    const place = element.getBoundingClientRect();
    const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
    tip.style.left = `${Math.max(8, Math.min(place.left, room))}px`;
    const above = place.top - tip.offsetHeight - 4;
    tip.style.top = `${above > 8 ? above : place.bottom + 4}px`;
  }

  const near = (target) => target instanceof Element && target.closest("[data-provenance]");

  document.addEventListener("mouseover", (event) => {
    const element = near(event.target);
    if (element && element !== owner) {
      show(element);
    } else if (!element && event.target !== tip && owner !== document.activeElement) {
      hide();
    }
  });
  document.addEventListener("focusin", (event) => (near(event.target) ? show(near(event.target)) : hide()));
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
  document.addEventListener("scroll", () => (owner && owner === document.activeElement ? show(owner) : hide()), { capture: true, passive: true });
})();
