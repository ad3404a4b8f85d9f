/* Everything that a page does by itself, in one request: it draws charts, offers to save them and tables, says that an answer did
   not come, offers to copy what is meant for it, and shows where a number comes from. */

/* Draws each canvas[data-chart] from the json_script element it names.

   The data: {"kind": "bar" | "forest" | "line" | "scatter" | "against", "horizontal": bool, "across": title of the names' axis, if any, "unit": str, "axis": str, "labels": [str],
   "series": [{"name": str, "points": [{"value": number, "low": number, "high": number, "inner_low": number, "inner_high": number} | null]}],
   "tones": ["good" | "bad" | null] for the points of a single series, or null, "reference": number | null, "band": [low, high] of a forest plot, shaded, if any}.
   "scatter": points have x, x_low, x_high besides, null where another series has the entry; series have a tone; "front": [[x, value]].
   "against": points have x and name besides, on a "scale" that both axes share, "linear" from 0 to 100 or "logarithmic", with the line on which both are equal.
   A point without an interval has low and high null, or both equal to its value. The same numbers stand in a table beside the
   canvas, so without this script nothing is lost. The library, three quarters of what a page weighs, comes with its first chart. */
(() => {
  "use strict";

  const library = document.currentScript.dataset.charts;
  let loading = null;

  async function load() {
    await new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = library;
      script.addEventListener("load", resolve);
      script.addEventListener("error", () => reject(new Error(`${library} cannot be loaded`)));
      document.head.append(script);
    });
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    Chart.register(errorBars);
  }

  const darkMode = window.matchMedia("(prefers-color-scheme: dark)");
  const phone = window.matchMedia("(max-width: 40rem)");
  const numbers = new Intl.NumberFormat("en-GB", { maximumSignificantDigits: 4 });

  /* The colour a custom property stands for now: light-dark() is resolved by an element, not by the property. */
  function colour(name) {
    const probe = document.createElement("span");
    probe.style.color = `var(${name})`;
    document.body.append(probe);
    const value = getComputedStyle(probe).color;
    probe.remove();
    return value;
  }

  function palette() {
    return [1, 2, 3, 4, 5, 6].map((i) => colour(`--chart-${i}`));
  }

  function toned(tone) {
    return colour({ good: "--good", bad: "--bad" }[tone] || "--chart-5");
  }

  /* Pale enough for an error bar to be seen on it; the border keeps the contrast with the page. */
  function pale(solid) {
    return solid.replace(/^rgb\((.*)\)$/, "rgba($1, 0.55)");
  }

  function datasets(data) {
    const colours = palette();
    const [position, low, high] = data.horizontal ? ["x", "xMin", "xMax"] : ["y", "yMin", "yMax"];
    return data.series.map((series, i) => {
      const solid = data.tones ? data.tones.map(toned) : series.points.map(() => colours[i % colours.length]);
      return {
        label: series.name,
        data: series.points.map((point, j) => {
          const place = { [data.horizontal ? "y" : "x"]: data.labels[j], [position]: point === null ? null : point.value };
          if (point !== null && point.low !== null && point.high !== null && point.low < point.high) {
            place[low] = point.low;
            place[high] = point.high;
          }
          return place;
        }),
        backgroundColor: solid.map(pale),
        borderColor: solid,
        borderWidth: 1.5,
        skipNull: true,
        errorBars: { colour: data.kind === "line" ? solid[0] : colour("--text"), whisker: 8 },
        ...looks[data.kind](solid),
      };
    });
  }

  /* A forest plot is marks with error bars on a logarithmic axis; a line joins the points of a series. */
  const looks = {
    bar: () => ({ borderRadius: 3, maxBarThickness: 40 }),
    forest: () => ({ pointStyle: "rectRot", radius: 8, hoverRadius: 10, showLine: false }),
    line: (solid) => ({ borderColor: solid[0], pointRadius: 4, pointHoverRadius: 6, borderWidth: 2 }),
  };
  const types = { bar: "bar", forest: "line", line: "line" };

  function describe(point, unit) {
    const text = unit === "×" ? `${numbers.format(point.value)}×` : `${numbers.format(point.value)} ${unit}`;
    return point.low === null || point.high === null
      ? text
      : `${text} (${numbers.format(point.low)} to ${numbers.format(point.high)})`;
  }

  /* From a little below the lowest end to a little above the highest, with one in view. */
  function logarithmic(data) {
    const ends = data.series.flatMap((series) => series.points.flatMap((point) => [point.value, point.low ?? point.value, point.high ?? point.value]));
    const ticks = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8];
    const [low, high] = [Math.min(1, ...ends) / 1.15, Math.max(1, ...ends) * 1.15];
    const shown = [];
    for (let power = Math.floor(Math.log10(low)) - 1; power <= Math.log10(high); power += 1) {
      shown.push(...ticks.map((tick) => tick * 10 ** power));
    }
    const inside = shown.filter((tick) => tick >= low && tick <= high);
    const every = Math.max(1, Math.ceil(inside.length / (phone.matches ? 5 : 12)));
    const kept = inside.filter((tick, i) => Math.abs(tick - 1) < 1e-9 || (i - inside.findIndex((t) => Math.abs(t - 1) < 1e-9)) % every === 0);
    return {
      type: "logarithmic",
      min: low,
      max: high,
      afterBuildTicks: (axis) => { axis.ticks = kept.map((value) => ({ value })); },
    };
  }

  function options(data) {
    const [text, muted, line] = [colour("--text"), colour("--muted"), colour("--line")];
    const strong = colour("--line-strong");
    const values = {
      ...(data.kind === "forest" ? logarithmic(data) : { beginAtZero: true }),
      title: { display: true, text: data.axis, color: muted },
      ticks: { color: muted, maxRotation: data.kind === "forest" ? 0 : 50, callback: (value) => (data.kind === "forest" ? `${numbers.format(value)}×` : numbers.format(value)) },
      grid: { color: (context) => (context.tick && context.tick.value === data.reference ? strong : line), lineWidth: (context) => (context.tick && context.tick.value === data.reference ? 2 : 1) },
    };
    const names = { offset: data.kind !== "line", title: { display: Boolean(data.across), text: data.across, color: muted }, ticks: { color: text, autoSkip: false }, grid: { display: false } };
    return {
      indexAxis: data.horizontal ? "y" : "x",
      maintainAspectRatio: false,
      animation: false,
      scales: data.horizontal ? { x: values, y: names } : { x: names, y: values },
      plugins: {
        legend: { display: data.series.length > 1, position: "bottom", labels: { color: text, boxWidth: 12 } },
        tooltip: {
          callbacks: {
            label: (item) => `${item.dataset.label}: ${describe(data.series[item.datasetIndex].points[item.dataIndex], data.unit)}`,
          },
        },
      },
    };
  }

  /* The intervals of points, xMin to xMax and yMin to yMax, as bars with whiskers; an axis without limits of its own reaches their ends. */
  const errorBars = {
    id: "errorBars",
    afterDataLimits(chart, { scale }) {
      const ends = chart.data.datasets.flatMap((set, i) => (chart.isDatasetVisible(i) ? set.data : []))
        .flatMap((point) => [point[`${scale.axis}Min`], point[`${scale.axis}Max`]]).filter(Number.isFinite);
      if (scale.options.max === undefined) {
        [scale.min, scale.max] = [Math.min(scale.min, ...ends), Math.max(scale.max, ...ends)];
      }
    },
    afterDatasetsDraw(chart) {
      const context = chart.ctx;
      context.save();
      context.lineWidth = 1.5;
      chart.data.datasets.forEach((set, i) => {
        if (!set.errorBars || !chart.isDatasetVisible(i)) {
          return;
        }
        const { data: marks, xScale, yScale } = chart.getDatasetMeta(i);
        const half = set.errorBars.whisker / 2;
        context.strokeStyle = set.errorBars.colour;
        context.beginPath();
        set.data.forEach((point, j) => {
          const { x, y } = marks[j];
          for (const end of Number.isFinite(point.xMin) ? [point.xMin, point.xMax].map((value) => xScale.getPixelForValue(value)) : []) {
            context.moveTo(x, y);
            context.lineTo(end, y);
            context.moveTo(end, y - half);
            context.lineTo(end, y + half);
          }
          for (const end of Number.isFinite(point.yMin) ? [point.yMin, point.yMax].map((value) => yScale.getPixelForValue(value)) : []) {
            context.moveTo(x, y);
            context.lineTo(x, end);
            context.moveTo(x - half, end);
            context.lineTo(x + half, end);
          }
        });
        context.stroke();
      });
      context.restore();
    },
  };

  /* The interval of the mean as a thicker part of that for a new laboratory. */
  const inner = {
    id: "inner",
    afterDatasetsDraw(chart, args, settings) {
      const [context, scale] = [chart.ctx, chart.scales.x];
      context.save();
      context.lineWidth = 5;
      settings.points.forEach((point, index) => {
        if (point.inner_low === null || point.inner_low === undefined || point.inner_low >= point.inner_high) {
          return;
        }
        const { y } = chart.getDatasetMeta(0).data[index];
        context.strokeStyle = settings.colour;
        context.beginPath();
        context.moveTo(scale.getPixelForValue(point.inner_low), y);
        context.lineTo(scale.getPixelForValue(point.inner_high), y);
        context.stroke();
      });
      context.restore();
    },
  };

  /* Behind everything the differences that nobody would notice, and the line of no difference, which a narrow axis has no tick for. */
  const band = {
    id: "band",
    beforeDatasetsDraw(chart, args, settings) {
      const [context, area] = [chart.ctx, chart.chartArea];
      const at = (value) => Math.min(Math.max(chart.scales.x.getPixelForValue(value), area.left), area.right);
      context.save();
      context.fillStyle = settings.colour;
      context.fillRect(at(settings.ends[0]), area.top, at(settings.ends[1]) - at(settings.ends[0]), area.bottom - area.top);
      context.fillStyle = settings.line;
      context.fillRect(at(settings.reference) - 1, area.top, 2, area.bottom - area.top);
      context.restore();
    },
  };

  /* Marks with error bars in both directions, named beside them, and a broken line through what no estimate beats. */
  function scattered(data) {
    const styles = ["rectRot", "crossRot", "circle"];
    const sets = data.series.map((series, i) => {
      const solid = toned(series.tone);
      return {
        label: series.name,
        names: data.labels.filter((_, j) => series.points[j] !== null),
        points: series.points.filter((point) => point !== null),
        data: series.points.filter((point) => point !== null).map((point) => ({ x: point.x, xMin: point.x_low, xMax: point.x_high, y: point.value, yMin: point.low, yMax: point.high })),
        pointStyle: styles[i % styles.length],
        radius: 7,
        hoverRadius: 9,
        borderWidth: 2,
        backgroundColor: pale(solid),
        borderColor: solid,
        errorBars: { colour: solid, whisker: 8 },
      };
    }).filter((set) => set.data.length);
    const line = { label: "no estimate is better in both", names: [], points: [], data: data.front.map(([x, y]) => ({ x, y })), showLine: true, radius: 0, pointStyle: "line", borderDash: [6, 4], borderColor: colour("--muted"), borderWidth: 2 };
    return [...sets, line];
  }

  const named = {
    id: "named",
    afterDatasetsDraw(chart, args, settings) {
      const context = chart.ctx;
      context.save();
      context.fillStyle = settings.colour;
      context.font = `12px ${Chart.defaults.font.family}`;
      chart.data.datasets.forEach((set, i) => set.names.forEach((name, j) => {
        const { x, y } = chart.getDatasetMeta(i).data[j];
        context.textAlign = x > chart.chartArea.left + chart.chartArea.width / 2 ? "right" : "left";
        context.fillText(name, context.textAlign === "right" ? x - 10 : x + 10, y - 8);
      }));
      context.restore();
    },
  };

  function scatter(data, settings) {
    const [muted, line] = [colour("--muted"), colour("--line")];
    const axis = (title) => ({ type: "linear", grace: "5%", title: { display: true, text: title, color: muted }, ticks: { color: muted, callback: (value) => numbers.format(value) }, grid: { color: line } });
    settings.scales = { x: axis(data.across), y: axis(data.axis) };
    settings.plugins.legend.display = true;
    settings.plugins.legend.labels.usePointStyle = true;
    settings.plugins.tooltip.callbacks.label = (item) => `${item.dataset.names[item.dataIndex]}: ${describe({ value: item.parsed.x, low: item.raw.xMin, high: item.raw.xMax }, "×")}, ${describe(item.dataset.points[item.dataIndex], data.unit)}`;
    settings.plugins.tooltip.filter = (item) => item.dataset.names.length > 0;
    settings.plugins.named = { colour: colour("--text") };
    return { type: "scatter", data: { datasets: scattered(data) }, options: settings, plugins: [named] };
  }

  /* What was said over what came of it, around the broken line on which both are equal. */
  function against(data, settings) {
    const [muted, line, colours] = [colour("--muted"), colour("--line"), palette()];
    const every = data.series.flatMap((series) => series.points);
    const both = [...every, ...every.map((point) => ({ value: point.x, low: null, high: null }))];
    const isLog = data.scale === "logarithmic";
    const scale = isLog ? logarithmic({ series: [{ points: both }] }) : { type: "linear", min: 0, max: 100 };
    const axis = (title) => ({ ...scale, title: { display: true, text: title, color: muted }, ticks: { color: muted, callback: (value) => numbers.format(value) }, grid: { color: line } });
    settings.scales = { x: axis(data.across), y: axis(data.axis) };
    settings.plugins.legend.display = true;
    settings.plugins.legend.labels.usePointStyle = true;
    settings.plugins.tooltip.filter = (item) => item.datasetIndex < data.series.length;
    settings.plugins.tooltip.callbacks.label = (item) => {
      const point = data.series[item.datasetIndex].points[item.dataIndex];
      return `${point.name}: ${describe({ value: point.x, low: null, high: null }, data.unit)}, ${describe(point, data.unit)}`;
    };
    const sets = data.series.map((series, i) => ({
      label: series.name,
      data: series.points.map((point) => (point.low === null ? { x: point.x, y: point.value } : { x: point.x, y: point.value, yMin: point.low, yMax: point.high })),
      pointStyle: ["circle", "rectRot"][i % 2],
      radius: 5,
      hoverRadius: 7,
      backgroundColor: pale(colours[i]),
      borderColor: colours[i],
      errorBars: { colour: pale(colours[i]), whisker: 4 },
    }));
    const ends = [scale.min, scale.max];
    sets.push({ label: "as it should be", data: ends.map((end) => ({ x: end, y: end })), showLine: true, radius: 0, pointStyle: "line", borderDash: [6, 4], borderColor: muted, borderWidth: 2 });
    return { type: "scatter", data: { datasets: sets }, options: settings };
  }

  function draw(canvas) {
    const data = JSON.parse(document.getElementById(canvas.dataset.chart).textContent);
    const drawn = Chart.getChart(canvas);
    if (drawn) {
      drawn.destroy();
    }
    canvas.closest("figure").hidden = false;
    new Chart(canvas, configuration(data));
  }

  function configuration(data) {
    const settings = options(data);
    if (data.kind === "scatter") {
      return scatter(data, settings);
    }
    if (data.kind === "against") {
      return against(data, settings);
    }
    if (data.kind !== "forest") {
      return { type: types[data.kind], data: { labels: data.labels, datasets: datasets(data) }, options: settings };
    }
    settings.plugins.inner = { points: data.series[0].points, colour: colour("--text") };
    if (data.band) {
      settings.plugins.band = { ends: data.band, colour: pale(colour("--line")), reference: data.reference, line: colour("--line-strong") };
    }
    return { type: types.forest, data: { labels: data.labels, datasets: datasets(data) }, options: settings, plugins: data.band ? [band, inner] : [inner] };
  }

  /* The same chart at once on a canvas of its own size: what is saved as SVG. */
  function paint(target, data) {
    const { options: settings, ...rest } = configuration(data);
    return new Chart(target, { ...rest, platform: Chart.BasicPlatform, options: { ...settings, responsive: false, animation: false, devicePixelRatio: 1, events: [] } });
  }
  window.kdbCharts = { paint };

  async function drawAll(root) {
    if (root.querySelector("canvas[data-chart]")) {
      loading ??= load();
      await loading;
      root.querySelectorAll("canvas[data-chart]").forEach(draw);
    }
  }

  drawAll(document);
  darkMode.addEventListener("change", () => drawAll(document));
  document.body.addEventListener("htmx:afterSwap", (event) => drawAll(event.target));
  document.body.addEventListener("htmx:beforeCleanupElement", (event) => {
    const chart = event.target.matches?.("canvas[data-chart]") && window.Chart?.getChart(event.target);
    if (chart) {
      chart.destroy();
    }
  });
})();

/* Puts at the end of the page, folded, what saves each chart and table of it: CSV and JSON, of a chart PNG and SVG as well.

   A cell's data-value is its number in full precision, data-low and data-high are the ends of an interval; else
   its text counts. Charts are saved from the data they are drawn from (window.kdbCharts). */
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

  function offer(title, actions) {
    const line = document.createElement("p");
    line.append(`${title}: `);
    for (const [kind, act] of actions) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "link";
      button.textContent = kind;
      button.setAttribute("aria-label", `Save ${title} as ${kind}`);
      button.addEventListener("click", act);
      line.append(button, " ");
    }
    return line;
  }

  function titleOf(element) {
    const heading = element.querySelector("caption") ?? element.parentElement.closest("section, .card, .curve")?.querySelector("h1, h2, h3, h4");
    return tidy(heading?.textContent ?? document.title);
  }

  function offerAll() {
    const lines = [];
    for (const table of document.querySelectorAll("main .table-scroll > table:not(.recommendations)")) {
      if (table.querySelector("input, select, button")) {
        continue;
      }
      const title = titleOf(table);
      lines.push(offer(title, [
        ["CSV", () => save(csv(tableRows(table)), "text/csv", `${slug(title)}.csv`)],
        ["JSON", () => save(json(title, tableRows(table)), "application/json", `${slug(title)}.json`)],
      ]));
    }
    for (const canvas of document.querySelectorAll("main canvas[data-chart]")) {
      const data = JSON.parse(document.getElementById(canvas.dataset.chart).textContent);
      const title = titleOf(canvas.closest("figure"));
      lines.push(offer(`chart ${title}`, [
        ["PNG", () => save(png(canvas), "image/png", `${slug(title)}.png`)],
        ["SVG", async () => save(await svg(canvas), "image/svg+xml", `${slug(title)}.svg`)],
        ["CSV", () => save(csv(chartRows(data)), "text/csv", `${slug(title)}-chart.csv`)],
        ["JSON", () => save(json(title, chartRows(data)), "application/json", `${slug(title)}-chart.json`)],
      ]));
    }
    const before = document.getElementById("saves");
    const saves = document.createElement("details");
    const summary = document.createElement("summary");
    summary.textContent = "Save";
    saves.id = "saves";
    saves.className = "small";
    saves.open = before?.open ?? false;
    saves.append(summary, ...lines);
    before?.remove();
    if (lines.length) {
      (document.querySelector("main > .bar") ?? document.querySelector("main")).append(saves);
    }
  }

  offerAll();
  document.body.addEventListener("htmx:afterSettle", offerAll);
})();

/* Says so when an answer did not come: htmx itself keeps silent and leaves the page as it was. Where the server says why it
   refuses what a link or a form asks for, its page is shown, as without this script. */
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
  document.body.addEventListener("htmx:responseError", (event) => {
    const { elt, xhr, pathInfo } = event.detail;
    if (xhr.status < 500 && elt.matches("a[href], form[method=get]")) {
      window.location.assign(pathInfo.finalRequestPath);
      return;
    }
    say("The server could not answer. Ask again in a moment.");
  });
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
