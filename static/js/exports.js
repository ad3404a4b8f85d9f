/* Puts under each chart and each table of the page what saves it: CSV and JSON, of a chart PNG and SVG as well.

   A cell's data-value is its number in full precision, data-low and data-high are the ends of an interval; else
   its text counts. Charts are saved from the data they are drawn from (charts.js gives window.kdbCharts). */
(() => {
  "use strict";

  const svgLibrary = document.currentScript.dataset.svg;

  function save(content, type, name) {
    const link = document.createElement("a");
    link.href = typeof content === "string" && content.startsWith("data:") ? content : URL.createObjectURL(new Blob([content], { type }));
    link.download = name;
    link.click();
    if (link.href.startsWith("blob:")) {
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    }
  }

  const tidy = (text) => text.replace(/\s+/g, " ").trim();
  const slug = (text) => text.toLowerCase().normalize("NFKD").replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60) || "kdb";
  const numeric = (text) => (text !== "" && Number.isFinite(Number(text)) ? Number(text) : text === "" ? null : text);

  /* What one cell says: its exact value, the two ends of an interval, or its text; a dash is nothing. */
  function read(cell) {
    if (cell.dataset.low !== undefined) {
      return [numeric(cell.dataset.low), numeric(cell.dataset.high)];
    }
    if (cell.dataset.value !== undefined) {
      return [numeric(cell.dataset.value)];
    }
    const copy = cell.cloneNode(true);
    copy.querySelectorAll(cell.matches("th") ? "sup, .tag" : "sup").forEach((mark) => mark.remove());
    const text = tidy(copy.textContent);
    return [text === "–" || text === "" ? null : cell.matches(".num") ? numeric(text) : text];
  }

  function tableRows(table) {
    const heads = [...table.querySelectorAll("thead tr:last-child > *")];
    const body = [...table.querySelectorAll("tbody tr")].filter((row) => !row.querySelector("[colspan]"));
    const isInterval = heads.map((_, i) => body.some((row) => row.children[i]?.dataset.low !== undefined));
    const columns = heads.flatMap((head, i) => {
      const name = tidy(head.textContent) || `column ${i + 1}`;
      return isInterval[i] ? [`${name}, low`, `${name}, high`] : [name];
    });
    const rows = body.map((row) => heads.flatMap((_, i) => {
      const found = row.children[i] ? read(row.children[i]) : [null];
      return isInterval[i] && found.length === 1 ? [null, null] : found;
    }));
    return { columns, rows };
  }

  function chartRows(data) {
    const columns = ["series", "name", "value", "low", "high", "unit"];
    const rows = data.series.flatMap((series) => series.points.map((point, i) =>
      [series.name, data.labels[i], point && point.value, point && point.low, point && point.high, data.unit]));
    return { columns, rows };
  }

  /* An apostrophe before what a spreadsheet would take for a formula, as kdb/csv_cells.py does. */
  const escaped = (text) => (/^'*[=+\-@\t\r]/.test(text) && !Number.isFinite(Number(text)) ? `'${text}` : text);

  function csv({ columns, rows }) {
    const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    const field = (value) => (value === null ? "" : quoted(escaped(`${value}`)));
    return [columns, ...rows].map((row) => row.map(field).join(",")).join("\r\n") + "\r\n";
  }

  function json(title, { columns, rows }) {
    const objects = rows.map((row) => Object.fromEntries(columns.map((column, i) => [column, row[i]])));
    return JSON.stringify({ title, source: window.location.href, rows: objects }, null, 1);
  }

  /* The chart on its page's own ground, so that dark text does not end on nothing. */
  function png(canvas) {
    const copy = document.createElement("canvas");
    [copy.width, copy.height] = [canvas.width, canvas.height];
    const context = copy.getContext("2d");
    context.fillStyle = getComputedStyle(canvas.closest(".card") ?? document.body).backgroundColor;
    context.fillRect(0, 0, copy.width, copy.height);
    context.drawImage(canvas, 0, 0);
    return copy.toDataURL("image/png");
  }

  async function svg(canvas) {
    const { Element: SvgCanvas } = await import(svgLibrary);
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    const target = new SvgCanvas({ width, height, ctx: document.createElement("canvas").getContext("2d") });
    const chart = window.kdbCharts.paint(target, JSON.parse(document.getElementById(canvas.dataset.chart).textContent));
    chart.draw();
    const text = target.getContext("2d").getSerializedSvg(true);
    chart.destroy();
    return text;
  }

  function offer(after, title, actions) {
    const line = document.createElement("p");
    line.className = "exports small";
    line.append("Save ");
    for (const [kind, act] of actions) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "link";
      button.textContent = kind;
      button.setAttribute("aria-label", `Save ${title} as ${kind}`);
      button.addEventListener("click", act);
      line.append(button, " ");
    }
    after.after(line);
  }

  function titleOf(element) {
    const heading = element.querySelector("caption") ?? element.parentElement.closest("section, .card, .curve")?.querySelector("h1, h2, h3, h4");
    return tidy(heading?.textContent ?? document.title);
  }

  function offerAll(root) {
    for (const table of root.querySelectorAll("main .table-scroll > table")) {
      const scroll = table.parentElement;
      if (table.querySelector("input, select, button") || scroll.nextElementSibling?.matches(".exports")) {
        continue;
      }
      const title = titleOf(table);
      offer(scroll, title, [
        ["CSV", () => save(csv(tableRows(table)), "text/csv", `${slug(title)}.csv`)],
        ["JSON", () => save(json(title, tableRows(table)), "application/json", `${slug(title)}.json`)],
      ]);
    }
    for (const canvas of root.querySelectorAll("main canvas[data-chart]")) {
      const figure = canvas.closest("figure");
      if (figure.nextElementSibling?.matches(".exports")) {
        continue;
      }
      const data = JSON.parse(document.getElementById(canvas.dataset.chart).textContent);
      const title = titleOf(figure);
      offer(figure, `chart ${title}`, [
        ["PNG", () => save(png(canvas), "image/png", `${slug(title)}.png`)],
        ["SVG", async () => save(await svg(canvas), "image/svg+xml", `${slug(title)}.svg`)],
        ["CSV", () => save(csv(chartRows(data)), "text/csv", `${slug(title)}-chart.csv`)],
        ["JSON", () => save(json(title, chartRows(data)), "application/json", `${slug(title)}-chart.json`)],
      ]);
    }
  }

  offerAll(document);
  document.body.addEventListener("htmx:afterSettle", () => offerAll(document));
})();
