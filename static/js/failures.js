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
