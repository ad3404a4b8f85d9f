/* Draws each canvas[data-chart] from the json_script element it names.

   The data: {"horizontal": bool, "unit": str, "axis": str, "labels": [str],
   "series": [{"name": str, "points": [{"value": number, "low": number, "high": number} | null]}],
   "tones": ["good" | "bad" | null] for the points of a single series, or null, "reference": number | null}.
   A point without an interval has low and high null, or both equal to its value. The same numbers stand in a table beside the
   canvas, so without this script nothing is lost. */
(() => {
  "use strict";

  const darkMode = window.matchMedia("(prefers-color-scheme: dark)");
  const lessMotion = window.matchMedia("(prefers-reduced-motion: reduce)");
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
        errorBarColor: colour("--text"),
        errorBarWhiskerColor: colour("--text"),
        errorBarLineWidth: 1.5,
        errorBarWhiskerLineWidth: 1.5,
        errorBarWhiskerSize: 8,
        borderRadius: 3,
        maxBarThickness: data.horizontal ? 26 : 40,
      };
    });
  }

  function describe(point, unit) {
    const text = unit === "×" ? `${numbers.format(point.value)}×` : `${numbers.format(point.value)} ${unit}`;
    return point.low === null || point.high === null
      ? text
      : `${text} (${numbers.format(point.low)} to ${numbers.format(point.high)})`;
  }

  function options(data) {
    const [text, muted, line] = [colour("--text"), colour("--muted"), colour("--line")];
    const strong = colour("--line-strong");
    const values = {
      beginAtZero: true,
      title: { display: true, text: data.axis, color: muted },
      ticks: { color: muted },
      grid: { color: (context) => (context.tick && context.tick.value === data.reference ? strong : line) },
    };
    const names = { ticks: { color: text, autoSkip: false }, grid: { display: false } };
    return {
      indexAxis: data.horizontal ? "y" : "x",
      maintainAspectRatio: false,
      animation: lessMotion.matches ? false : { duration: 250 },
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

  function draw(canvas) {
    const data = JSON.parse(document.getElementById(canvas.dataset.chart).textContent);
    const drawn = Chart.getChart(canvas);
    if (drawn) {
      drawn.destroy();
    }
    canvas.closest("figure").hidden = false;
    new Chart(canvas, { type: "barWithErrorBars", data: { labels: data.labels, datasets: datasets(data) }, options: options(data) });
  }

  function drawAll(root) {
    root.querySelectorAll("canvas[data-chart]").forEach(draw);
  }

  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  drawAll(document);
  darkMode.addEventListener("change", () => drawAll(document));
  document.body.addEventListener("htmx:afterSwap", (event) => drawAll(event.target));
  document.body.addEventListener("htmx:beforeCleanupElement", (event) => {
    const chart = event.target.matches("canvas[data-chart]") && Chart.getChart(event.target);
    if (chart) {
      chart.destroy();
    }
  });
})();
