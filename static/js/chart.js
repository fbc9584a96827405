/* One chart of a board: its figure, its words, and what can be done with it. */
"use strict";
window.ConchChart = (() => {
  const CONFIG = { displayModeBar: false, doubleClick: false, scrollZoom: false, responsive: false };
  const PNG = { format: "png", width: 1200, height: 480, scale: 2 };
  let made = 0;

  const make = (name, className, parent, text = "") => {
    const element = document.createElement(name);
    element.className = className;
    element.textContent = text;
    parent?.append(element);
    return element;
  };

  return class ConchChart {
    constructor(element, board) {
      this.element = element;
      this.board = board;
      this.key = element.dataset.chart;
      this.answer = null;
      this.build(`chart-${(made += 1)}`);
      this.watcher = new ResizeObserver(() => this.resize());
      this.watcher.observe(element);
    }

    build(id) {
      const figure = make("figure", "chart-figure");
      const caption = make("figcaption", "chart-caption", figure);
      this.title = make("span", "chart-title", caption, this.element.dataset.chartTitle || "");
      this.title.id = `${id}-title`;
      figure.setAttribute("aria-labelledby", this.title.id);
      this.buildMenu(caption, id);
      this.plot = make("div", "chart-plot", figure);
      this.plot.setAttribute("role", "img");
      this.plot.setAttribute("aria-label", "Chart, not loaded yet");
      this.list = make("ul", "chart-list", figure);
      this.list.hidden = true;
      this.list.setAttribute("aria-hidden", "true"); /* the plot's own label tells the same */
      this.nothing = make("p", "chart-nothing", figure, "Asking Prometheus...");
      this.status = make("p", "chart-status", figure);
      this.element.replaceChildren(figure);
    }

    buildMenu(caption, id) {
      const menu = make("details", "chart-menu", caption);
      menu.dataset.key = id;
      const summary = make("summary", "", menu, "⋯");
      summary.setAttribute("aria-label", `More about ${this.title.textContent}`);
      this.menu = make("div", "chart-menu-body", menu);
      const png = make("button", "button is-small", this.menu, "PNG");
      png.type = "button";
      png.addEventListener("click", () => this.savePng());
      this.csv = make("a", "button is-small", this.menu, "CSV");
      this.csv.download = "";
      this.elsewhere = make("span", "chart-elsewhere", this.menu);
      this.queries = make("div", "chart-queries", this.menu);
      menu.addEventListener("keydown", (event) => {
        if (event.key !== "Escape") return;
        menu.open = false;
        summary.focus();
      });
    }

    savePng() {
      if (!this.isBound) return;
      window.Plotly.downloadImage(this.plot, { ...PNG, filename: `${this.key}-${this.board.window.end_s}` });
    }

    take(answer) {
      this.answer = answer;
      this.draw();
    }

    draw() {
      if (!this.answer) return;
      const { state, title, help, message, figure } = this.answer;
      this.title.textContent = title;
      this.title.title = help;
      this.element.dataset.state = state;
      this.plot.hidden = !figure;
      this.nothing.hidden = Boolean(figure);
      if (figure) this.element.hidden = false; /* before it is painted: what is hidden has no width */
      window.conchWords.set(this.nothing, figure ? "" : message);
      this.plot.setAttribute("aria-label", figure ? this.inWords() : "");
      this.list.hidden = true;
      this.tell();
      if (figure && !window.Plotly) return this.fail("the chart library did not load");
      if (figure) this.react(window.conchPaint.painted(figure, this.element.clientWidth, this.board.zoom));
    }

    react({ data, layout, isListed }) {
      this.list.hidden = !isListed;
      this.list.replaceChildren(...(isListed ? this.answer.latest.map((one, at) => listed(one, data[at])) : []));
      window.Plotly.react(this.plot, data, layout, CONFIG);
      if (this.isBound) return;
      this.isBound = true;
      this.plot.on("plotly_relayout", (change) => this.zoomed(change));
      this.plot.on("plotly_doubleclick", () => this.board.zoomTo(null));
      this.plot.on("plotly_hover", (event) => this.board.point(this, window.conchPaint.unshifted(event.xvals[0])));
      this.plot.on("plotly_unhover", () => this.board.point(this, undefined));
      this.plot.on("plotly_click", (event) => {
        const mark = event.points.find((point) => point.data.meta.role === "marks");
        if (mark?.customdata?.startsWith("/")) location.assign(mark.customdata);
      });
    }

    zoomed(change) {
      const ends = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
      if (ends[0] !== undefined) this.board.zoomTo(ends.map(window.conchPaint.unshifted));
    }

    /* Show the crosshair at a moment, in UTC milliseconds; undefined takes it away. */
    point(moment) {
      if (!this.isBound || this.plot.hidden) return;
      if (moment === undefined) window.Plotly.Fx.unhover(this.plot, {});
      else window.Plotly.Fx.hover(this.plot, { xval: window.conchPaint.shifted(moment) }, "xy", true);
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

    /* What is known about the answer, and where else to look at it. */
    tell() {
      this.element.classList.remove("is-stale");
      window.conchWords.set(this.status, this.answer?.figure ? this.answer.message : "");
      this.csv.href = this.board.address(`/api/v1/charts/${encodeURIComponent(this.key)}/csv`);
      this.elsewhere.replaceChildren(...this.board.elsewhere(this.answer?.queries ?? []));
      this.queries.replaceChildren(...(this.answer?.queries ?? []).map((query) => make("pre", "chart-query", null, query)));
      for (const query of this.queries.children) query.tabIndex = 0;
    }

    fail(reason) {
      this.age();
      this.status.textContent = reason;
    }

    /* Whatever is shown may be out of date; the board says why. */
    age() {
      this.element.classList.add("is-stale");
      if (!this.answer) this.nothing.textContent = "No chart yet.";
    }

    end() {
      this.watcher.disconnect();
      if (this.isBound) window.Plotly.purge(this.plot);
    }
  };

  function listed({ name, text, is_current }, trace) {
    const item = make("li", "", null, `${name} ${text}${is_current ? "" : " (ended)"}`);
    item.style.color = trace.line.color;
    item.dataset.dash = trace.line.dash;
    return item;
  }
})();
