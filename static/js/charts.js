/* Boards: every <div class="charts" data-board="..."> asks for all of its charts at once, again when there is something
   new, not in a hidden tab, and then for the tail only. When asking fails, the charts keep what they have, say so and
   ask less often. Zoom and crosshair are shared by the charts of a board; the address carries the zoom. */
"use strict";
(() => {
  const SHORTEST_MS = 60000;
  const EVERY_MS = 5000;
  const MOST_MS = 60000;
  const PATIENCE_MS = 10000;
  const boards = new Set();

  class Board {
    constructor(element) {
      this.element = element;
      this.failures = 0;
      this.window = {};
      this.zoom = zoomInAddress();
      this.charts = [...element.querySelectorAll("[data-chart]")].map((one) => new window.ConchChart(one, this));
      this.status = Object.assign(document.createElement("p"), { className: "charts-status" });
      this.status.setAttribute("role", "status");
      element.prepend(this.status);
      this.tellZoom();
      this.refresh();
    }

    /* An address of the API about what is shown: a zoom is a shorter time that ended earlier, so it has finer steps. */
    address(path) {
      const url = new URL(path || this.element.dataset.board, location.href);
      if (path) url.search = new URL(this.element.dataset.board, location.href).search;
      if (!this.zoom) return url;
      url.searchParams.set("range_s", Math.round((this.zoom[1] - this.zoom[0]) / 1000));
      url.searchParams.set("until", new Date(this.zoom[1]).toISOString());
      url.searchParams.delete("rollout");
      const { model, environment, versions } = this.element.dataset;
      for (const [name, value] of Object.entries({ model, environment, versions })) if (value) url.searchParams.set(name, value);
      return url;
    }

    elsewhere(queries) {
      const { prometheus, grafana } = this.element.dataset;
      const links = [];
      if (prometheus && queries.length) {
        const url = new URL("graph", prometheus.endsWith("/") ? prometheus : `${prometheus}/`);
        const shown = queries.filter((query) => !query.startsWith("max by (server) (up"));
        (shown.length ? shown : queries).forEach((query, at) => {
          url.searchParams.set(`g${at}.expr`, query);
          url.searchParams.set(`g${at}.tab`, "0");
          url.searchParams.set(`g${at}.range_input`, `${this.window.end_s - this.window.start_s}s`);
        });
        links.push(link("Prometheus", url));
      }
      if (grafana) {
        const url = new URL(grafana);
        url.searchParams.set("from", this.window.start_s * 1000);
        url.searchParams.set("to", this.window.end_s * 1000);
        links.push(link("Grafana", url));
      }
      return links;
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
        this.status.textContent = "";
      } catch (error) {
        if (request !== this.request) return;
        this.fail(request.signal.reason === "late" ? `no answer in ${PATIENCE_MS / 1000} s` : error.message);
      } finally {
        clearTimeout(patience);
      }
      if (request === this.request) this.later(this.wait());
    }

    /* A window that has ended shows the same for ever; otherwise there is nothing new before the next slot. */
    wait() {
      if (this.failures) return Math.min(MOST_MS, EVERY_MS * 2 ** this.failures);
      return Math.max(EVERY_MS, Math.min(MOST_MS, (this.window.step_s || 0) * 1000));
    }

    async ask(signal) {
      const url = this.address();
      const asked = url.href;
      const isKnown = this.asked === asked;
      if (isKnown && this.shape) {
        url.searchParams.set("since_s", this.window.end_s);
        url.searchParams.set("shape", this.shape);
      }
      const headers = isKnown && this.tag ? { "If-None-Match": this.tag } : {};
      const response = await fetch(url, { signal, headers, cache: "no-store", credentials: "same-origin" });
      if (response.status === 304) return this.charts.forEach((chart) => chart.tell());
      if (!response.ok) throw new Error(await whatIsWrong(response));
      const answer = await response.json();
      signal.throwIfAborted();
      Object.assign(this, { tag: response.headers.get("ETag") || "", asked, window: answer.window, shape: answer.shape });
      this.take(answer);
    }

    take({ charts, from_s }) {
      const byKey = new Map(charts.map((one) => [one.key, one]));
      for (const chart of this.charts) {
        const news = byKey.get(chart.key);
        if (!news) continue;
        if (from_s !== null && news.figure && chart.answer?.figure) {
          news.figure = window.conchPaint.joined(chart.answer.figure, news.figure, from_s * 1000);
          news.queries = chart.answer.queries;
        }
        chart.take(news);
      }
      window.conchWords.fold(this);
    }

    later(wait_ms) {
      this.timer = setTimeout(() => this.refresh(), wait_ms);
    }

    fail(reason) {
      this.failures += 1;
      this.status.textContent = `Not up to date: ${reason}. Asking again in ${this.wait() / 1000} s.`;
      this.charts.forEach((chart) => chart.age());
    }

    /* Milliseconds from and to, or null for the time the page was opened with. */
    zoomTo(range) {
      if (range && range[1] - range[0] < SHORTEST_MS) {
        const middle = (range[0] + range[1]) / 2;
        range = [middle - SHORTEST_MS / 2, middle + SHORTEST_MS / 2];
      }
      const wanted = range && range.map((end) => Math.round(end / 1000) * 1000);
      if (JSON.stringify(wanted) === JSON.stringify(this.zoom)) return;
      this.zoom = wanted;
      putInAddress(wanted);
      this.tellZoom();
      this.draw();
      this.refresh();
    }

    tellZoom() {
      const back = document.querySelector("[data-zoom-out]");
      if (!back) return;
      back.hidden = !this.zoom;
      back.onclick = () => this.zoomTo(null);
    }

    point(from, moment) {
      for (const chart of this.charts) if (chart !== from) chart.point(moment);
    }

    draw() {
      this.charts.forEach((chart) => chart.draw());
    }

    end() {
      boards.delete(this);
      this.request?.abort();
      this.charts.forEach((chart) => chart.end());
    }
  }

  function link(words, url) {
    const made = document.createElement("a");
    made.className = "button is-small";
    made.textContent = words;
    made.href = url.href;
    made.rel = "noopener";
    made.target = "_blank";
    return made;
  }

  function zoomInAddress() {
    const asked = new URLSearchParams(location.search);
    const ends = [Number(asked.get("from")) * 1000, Number(asked.get("to")) * 1000];
    return ends.every(Number.isFinite) && ends[0] > 0 && ends[1] - ends[0] >= SHORTEST_MS ? ends : null;
  }

  function putInAddress(zoom) {
    const url = new URL(location.href);
    for (const [at, name] of ["from", "to"].entries()) {
      if (zoom) url.searchParams.set(name, zoom[at] / 1000);
      else url.searchParams.delete(name);
    }
    history.replaceState(history.state, "", url);
  }

  async function whatIsWrong(response) {
    if (response.status === 401) return "you are signed out; sign in again";
    try {
      return (await response.json()).detail || `Conch answered ${response.status}`;
    } catch {
      return `Conch answered ${response.status}`;
    }
  }

  const redraw = () => boards.forEach((board) => board.draw());

  function find() {
    boards.forEach((board) => board.element.isConnected || board.end());
    for (const element of document.querySelectorAll(".charts[data-board]")) {
      if (![...boards].some((board) => board.element === element)) boards.add(new Board(element));
    }
  }

  document.addEventListener("DOMContentLoaded", () => {
    find();
    window.conchPaint.dark.addEventListener("change", redraw);
    new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  });
  document.addEventListener("htmx:afterSettle", find);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) boards.forEach((board) => board.refresh());
  });
})();
