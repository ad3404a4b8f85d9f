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
