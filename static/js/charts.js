/* Draws each canvas[data-chart] from the json_script element it names.

   The data: {"kind": "bar" | "forest" | "line" | "scatter" | "against", "horizontal": bool, "across": title of the names' axis, if any, "unit": str, "axis": str, "labels": [str],
   "series": [{"name": str, "points": [{"value": number, "low": number, "high": number, "inner_low": number, "inner_high": number} | null]}],
   "tones": ["good" | "bad" | null] for the points of a single series, or null, "reference": number | null, "band": [low, high] of a forest plot, shaded, if any}.
   "scatter": points have x, x_low, x_high besides, null where another series has the entry; series have a tone; "front": [[x, value]].
   "against": points have x and name besides, on a "scale" that both axes share, "linear" from 0 to 100 or "logarithmic", with the line on which both are equal.
   A point without an interval has low and high null, or both equal to its value. The same numbers stand in a table beside the
   canvas, so without this script nothing is lost. The libraries, four fifths of what a page weighs, come with its first chart. */
(() => {
  "use strict";

  const libraries = document.currentScript.dataset.libraries.split(" ");
  let loading = null;

  function load(address) {
    return new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = address;
      script.async = false; // in this order
      script.addEventListener("load", resolve);
      script.addEventListener("error", () => reject(new Error(`${address} cannot be loaded`)));
      document.head.append(script);
    });
  }

  async function loadAll() {
    await Promise.all(libraries.map(load));
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
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
        errorBarColor: data.kind === "line" ? solid[0] : colour("--text"),
        errorBarWhiskerColor: data.kind === "line" ? solid[0] : colour("--text"),
        errorBarLineWidth: 1.5,
        errorBarWhiskerLineWidth: 1.5,
        errorBarWhiskerSize: 8,
        ...looks[data.kind](solid),
      };
    });
  }

  /* A forest plot is marks with error bars on a logarithmic axis; a line joins the points of a series. */
  const looks = {
    bar: () => ({ borderRadius: 3, maxBarThickness: 40 }),
    forest: (solid) => ({ ...marks(solid), pointStyle: "rectRot", radius: 8, hoverRadius: 10, showLine: false }),
    line: (solid) => ({ ...marks(solid), borderColor: solid[0], pointRadius: 4, pointHoverRadius: 6, borderWidth: 2 }),
  };
  const types = { bar: "barWithErrorBars", forest: "lineWithErrorBars", line: "lineWithErrorBars" };

  function marks(solid) {
    return { pointBackgroundColor: solid, pointBorderColor: solid };
  }

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
        errorBarColor: solid,
        errorBarWhiskerColor: solid,
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
    return { type: "scatterWithErrorBars", data: { datasets: scattered(data) }, options: settings, plugins: [named] };
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
      errorBarColor: pale(colours[i]),
      errorBarWhiskerColor: pale(colours[i]),
      errorBarWhiskerSize: 4,
    }));
    const ends = [scale.min, scale.max];
    sets.push({ label: "as it should be", data: ends.map((end) => ({ x: end, y: end })), showLine: true, radius: 0, pointStyle: "line", borderDash: [6, 4], borderColor: muted, borderWidth: 2 });
    return { type: "scatterWithErrorBars", data: { datasets: sets }, options: settings };
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

  /* The same chart at once on a canvas of its own size: what exports.js saves as SVG. */
  function paint(target, data) {
    const { options: settings, ...rest } = configuration(data);
    return new Chart(target, { ...rest, platform: Chart.BasicPlatform, options: { ...settings, responsive: false, animation: false, devicePixelRatio: 1, events: [] } });
  }
  window.kdbCharts = { paint };

  async function drawAll(root) {
    if (root.querySelector("canvas[data-chart]")) {
      loading ??= loadAll();
      await loading;
      root.querySelectorAll("canvas[data-chart]").forEach(draw);
    }
  }

  drawAll(document);
  darkMode.addEventListener("change", () => drawAll(document));
  document.body.addEventListener("htmx:afterSwap", (event) => drawAll(event.target));
  document.body.addEventListener("htmx:beforeCleanupElement", (event) => {
    const chart = event.target.matches("canvas[data-chart]") && window.Chart?.getChart(event.target);
    if (chart) {
      chart.destroy();
    }
  });
})();
