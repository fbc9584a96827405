/* Charts: every <div class="chart" data-chart-url="..."> is drawn by Plotly and asked for again every 5 s, not in a
   hidden tab. The range comes from the nearest data-range-s, if there is one. When asking fails, the chart keeps what
   it has, says so in its own status line and asks less often. Zoom and crosshair are shared by the charts of a page. */
"use strict";
(() => {
  const EVERY_MS = 5000;
  const MOST_MS = 60000;
  const PATIENCE_MS = 10000;
  const MOST_OF_WIDTH = 0.3;
  const CONFIG = { displayModeBar: false, doubleClick: false, scrollZoom: false, responsive: false };
  const charts = new Set();
  let zoom = null; /* [from, to] in shifted milliseconds, while the reader has zoomed in */

  /* Time: figures carry UTC milliseconds, and Plotly draws UTC; moved by the zone it reads as the reader's time. */
  const shifted = (ms) => ms - new Date(ms).getTimezoneOffset() * 60000;

  /* Colour: traces, shapes and annotations name their role; the palette of the theme says which colour that is. */
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const theme = () => document.documentElement.dataset.theme || (dark.matches ? "dark" : "light");
  const token = (name, otherwise) =>
    getComputedStyle(document.documentElement).getPropertyValue(name).trim() || otherwise;

  function painted(figure, width) {
    const { data, layout } = structuredClone(figure);
    const labels = layout.annotations.filter((note) => note.xref !== "paper");
    const isTight = width && layout.margin.r > width * MOST_OF_WIDTH;
    if (isTight) makeRoom(layout, labels);
    const palette = layout.meta.palettes[theme()];
    const text = token("--ink-soft", palette.text);
    const grid = token("--line", palette.grid);
    data.forEach((trace) => paintTrace(trace, palette));
    layout.shapes.forEach((shape) => {
      shape.line.color = palette[shape.name];
      if (shape.xref !== "paper") shape.x0 = shape.x1 = shifted(shape.x0);
    });
    layout.annotations.forEach((note) => {
      note.font.color = palette[note.name];
      if (note.xref !== "paper") note.x = shifted(note.x);
    });
    layout.font.color = text;
    [layout.xaxis, layout.yaxis].forEach((axis) => Object.assign(axis, { gridcolor: grid, linecolor: grid }));
    layout.xaxis.spikecolor = text;
    layout.xaxis.range = zoom || layout.xaxis.range.map(shifted);
    layout.hoverlabel = { bgcolor: token("--panel", "#fff"), bordercolor: grid, font: { color: token("--ink", text) } };
    return { data, layout, isListed: isTight };
  }

  /* Where labels beside the lines would take too much of the chart, they go into a list below. */
  function makeRoom(layout, labels) {
    layout.margin.r = 8;
    layout.annotations = layout.annotations.filter((note) => !labels.includes(note));
  }

  function paintTrace(trace, palette) {
    if (trace.meta.role === "marks") {
      trace.x = trace.x.map(shifted);
      trace.marker.color = trace.meta.kinds.map((kind) => palette[kind]);
      return;
    }
    trace.x0 = shifted(trace.x0);
    trace.line.color = trace.marker.color = palette[trace.meta.role];
  }

  class ConchChart {
    constructor(element, number) {
      this.element = element;
      this.failures = 0;
      this.tag = "";
      this.answer = null;
      this.build(`chart-${number}`);
      this.watcher = new ResizeObserver(() => this.resize());
      this.watcher.observe(element);
      this.refresh();
    }

    build(id) {
      const make = (name, className, parent) => {
        const made = document.createElement(name);
        made.className = className;
        parent?.append(made);
        return made;
      };
      const figure = make("figure", "chart-figure");
      const caption = make("figcaption", "chart-caption", figure);
      this.title = make("span", "chart-title", caption);
      this.title.id = `${id}-title`;
      figure.setAttribute("aria-labelledby", this.title.id);
      this.plot = make("div", "chart-plot", figure);
      this.plot.setAttribute("role", "img");
      this.plot.setAttribute("aria-label", "Chart, not loaded yet");
      this.list = make("ul", "chart-list", figure);
      this.list.hidden = true;
      this.list.setAttribute("aria-hidden", "true"); /* the plot's own label tells the same */
      this.nothing = make("p", "chart-nothing", figure);
      this.nothing.textContent = "Asking Prometheus...";
      this.status = make("p", "chart-status", figure);
      this.title.textContent = this.element.dataset.chartTitle || "";
      this.element.replaceChildren(figure);
    }

    address() {
      const url = new URL(this.element.dataset.chartUrl, location.href);
      const range = this.element.closest("[data-range-s]")?.dataset.rangeS;
      if (range) url.searchParams.set("range_s", range);
      return url;
    }

    /* Ask again; a request still under way is given up. */
    async refresh() {
      clearTimeout(this.timer);
      if (!this.element.isConnected) return this.end();
      if (document.hidden) return this.later(EVERY_MS);
      this.request?.abort();
      const request = (this.request = new AbortController());
      const patience = setTimeout(() => request.abort("late"), PATIENCE_MS);
      try {
        await this.ask(request.signal);
        this.failures = 0;
      } catch (error) {
        if (request !== this.request) return;
        this.fail(request.signal.reason === "late" ? `no answer in ${PATIENCE_MS / 1000} s` : error.message);
      } finally {
        clearTimeout(patience);
      }
      if (request === this.request) this.later(Math.min(MOST_MS, EVERY_MS * 2 ** this.failures));
    }

    async ask(signal) {
      const url = this.address();
      const headers = this.tag && this.asked === url.href ? { "If-None-Match": this.tag } : {};
      const response = await fetch(url, { signal, headers, cache: "no-store", credentials: "same-origin" });
      if (response.status === 304) return this.tell();
      if (!response.ok) throw new Error(await whatIsWrong(response));
      const answer = await response.json();
      signal.throwIfAborted();
      [this.tag, this.asked, this.answer] = [response.headers.get("ETag") || "", url.href, answer];
      this.draw();
    }

    later(wait_ms) {
      this.timer = setTimeout(() => this.refresh(), wait_ms);
    }

    draw() {
      if (!this.answer) return;
      const { state, title, help, message, figure } = this.answer;
      this.title.textContent = title;
      this.title.title = help;
      this.element.dataset.state = state;
      this.plot.hidden = !figure;
      this.nothing.hidden = Boolean(figure);
      this.nothing.textContent = figure ? "" : message;
      this.plot.setAttribute("aria-label", figure ? this.inWords() : "");
      if (figure && !window.Plotly) throw new Error("the chart library did not load");
      if (figure) this.react(painted(figure, this.element.clientWidth));
      this.tell();
    }

    react({ data, layout, isListed }) {
      this.list.hidden = !isListed;
      this.list.replaceChildren(...(isListed ? this.answer.latest.map((one, at) => listed(one, data[at])) : []));
      window.Plotly.react(this.plot, data, layout, CONFIG);
      if (this.isBound) return;
      this.isBound = true;
      this.plot.on("plotly_relayout", (change) => this.zoomed(change));
      this.plot.on("plotly_doubleclick", () => zoomTo(null));
      this.plot.on("plotly_hover", (event) => this.point(event.xvals?.[0]));
      this.plot.on("plotly_unhover", () => this.point(undefined));
      this.plot.on("plotly_click", (event) => {
        const mark = event.points.find((point) => point.data.meta.role === "marks");
        if (mark) location.assign(`/rollouts/${encodeURIComponent(mark.customdata)}/`);
      });
    }

    zoomed(change) {
      const [from, to] = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
      if (from !== undefined) zoomTo([from, to]);
    }

    /* Show the crosshair at the same moment in every other chart; undefined takes it away. */
    point(moment) {
      for (const other of charts) {
        if (other === this || !other.isBound || other.plot.hidden) continue;
        if (moment === undefined) window.Plotly.Fx.unhover(other.plot, {});
        else window.Plotly.Fx.hover(other.plot, { xval: moment }, "xy", true);
      }
    }

    resize() {
      const width = this.element.clientWidth;
      if (!this.isBound || !width || width === this.width) return;
      this.width = width;
      this.draw();
      window.Plotly.Plots.resize(this.plot);
    }

    inWords() {
      const { title, unit, latest } = this.answer;
      const values = latest.map((one) => `${one.name} ${one.text}${one.is_current ? "" : " (ended)"}`);
      return `${title} in ${unit}. Last values: ${values.join("; ")}.`;
    }

    tell() {
      this.element.classList.remove("is-stale");
      this.status.textContent = this.answer?.figure ? this.answer.message : "";
    }

    fail(reason) {
      this.failures += 1;
      const wait_s = Math.min(MOST_MS, EVERY_MS * 2 ** this.failures) / 1000;
      this.element.classList.add("is-stale");
      const text = `Not up to date: ${reason}. Asking again in ${wait_s} s.`;
      this.status.textContent = text;
      if (!this.answer) this.nothing.textContent = "No chart yet.";
    }

    end() {
      charts.delete(this);
      this.watcher.disconnect();
      if (this.isBound) window.Plotly.purge(this.plot);
    }
  }

  function listed({ name, text }, trace) {
    const item = document.createElement("li");
    item.textContent = `${name} ${text}`;
    item.style.color = trace.line.color;
    item.dataset.dash = trace.line.dash;
    return item;
  }

  async function whatIsWrong(response) {
    if (response.status === 401) return "you are signed out; sign in again";
    try {
      return (await response.json()).detail || `Conch answered ${response.status}`;
    } catch {
      return `Conch answered ${response.status}`;
    }
  }

  function zoomTo(range) {
    if (JSON.stringify(range) === JSON.stringify(zoom)) return;
    zoom = range;
    redraw();
  }

  function redraw() {
    charts.forEach((chart) => chart.draw());
  }

  let made = 0;
  function find() {
    charts.forEach((chart) => chart.element.isConnected || chart.end());
    for (const element of document.querySelectorAll(".chart[data-chart-url]")) {
      if (![...charts].some((chart) => chart.element === element)) charts.add(new ConchChart(element, (made += 1)));
    }
  }

  document.addEventListener("DOMContentLoaded", () => {
    find();
    dark.addEventListener("change", redraw);
    new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    new MutationObserver((changes) => {
      if (changes.some((change) => change.type === "attributes")) charts.forEach((chart) => chart.refresh());
    }).observe(document.body, { attributeFilter: ["data-range-s", "data-chart-url"], subtree: true });
  });
  document.addEventListener("htmx:afterSettle", find);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) charts.forEach((chart) => chart.refresh());
  });
})();
