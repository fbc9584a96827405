/* The fleet's figures: for each model in sight, its last values and the last quarter of an hour as a small line, from
   the charts, every 10 s, not in a hidden tab. */
"use strict";
(() => {
  const EVERY_MS = 10000;
  const AT_ONCE = 3;
  const kept = new Map(); /* what each cell said last: the table around it is swapped while rollouts move */
  const inSight = new Set();
  const digits = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 3 });

  const watcher = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) isIntersecting ? inSight.add(target) : inSight.delete(target);
  });

  /* What the number beside it says, over time: requests are added up, of the others the worst counts. */
  function courseOf(kind, figure) {
    const lines = (figure?.data ?? []).filter((trace) => trace.y && trace.meta.role !== "marks");
    const percentiles = lines.filter((trace) => trace.name.includes("p99"));
    const drawn = percentiles.length ? percentiles : lines;
    const together = (values) => (kind === "requests" ? values.reduce((sum, one) => sum + one, 0) : Math.max(...values));
    return (drawn[0]?.y ?? []).map((_, at) => {
      const values = drawn.map((trace) => trace.y[at]).filter((one) => one !== null);
      return values.length ? together(values) : null;
    });
  }

  /* From zero; a gap stays a gap. */
  function sparkline(course) {
    const [width, height] = [64, 18];
    const most = Math.max(...course.filter((value) => value !== null), 0) || 1;
    const at = (value, index) => `${((index / Math.max(1, course.length - 1)) * width).toFixed(1)} ${(height - 1 - (value / most) * (height - 2)).toFixed(1)}`;
    const isGap = (index) => course[index] === null || course[index] === undefined;
    const steps = course.map((value, index) => (value === null ? "" : `${isGap(index - 1) ? "M" : "L"}${at(value, index)}`));
    const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    picture.setAttribute("class", "spark");
    picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    picture.setAttribute("aria-hidden", "true");
    picture.append(document.createElementNS("http://www.w3.org/2000/svg", "path"));
    picture.firstChild.setAttribute("d", steps.join(""));
    return picture;
  }

  function show(cell, { value, note, words, course }) {
    const text = document.createElement("span");
    text.textContent = value === null ? "–" : digits.format(value);
    if (value === null) text.className = "soft";
    const limit = Number(cell.dataset.limit);
    const isOver = value !== null && cell.dataset.limit && value > limit;
    if (isOver) {
      text.className = "tone-bad";
      text.textContent += " !";
    }
    if (note && value !== null) text.textContent = `${note} ${text.textContent}`;
    text.title = isOver ? `above the promise of ${digits.format(limit)}` : words;
    cell.replaceChildren(...(course?.some((one) => one !== null) ? [sparkline(course)] : []), text);
  }

  function figureOf(kind, answer) {
    const lines = (answer.latest ?? []).filter((line) => line.is_current);
    const words = answer.state === "ok" ? "" : answer.message;
    if (!lines.length) return { value: null, words };
    const values = (some) => some.map((line) => line.value);
    if (kind === "requests") return { value: values(lines).reduce((sum, value) => sum + value, 0), words };
    if (kind === "error_ratio") return { value: Math.max(...values(lines)), words };
    const worst = lines.filter((line) => line.name.includes("p99"));
    return worst.length ? { value: Math.max(...values(worst)), words } : { value: Math.max(...values(lines)), note: "mean", words: answer.message };
  }

  async function refresh(cell) {
    const { number, model } = cell.dataset;
    let said;
    try {
      const url = `/api/v1/charts/${number}?${new URLSearchParams({ model, range_s: "900" })}`;
      const response = await fetch(url, { headers: { Accept: "application/json" }, signal: AbortSignal.timeout(8000) });
      const answer = response.ok ? await response.json() : null;
      said = answer ? { ...figureOf(number, answer), course: courseOf(number, answer.figure) } : { value: null, words: `Conch answered ${response.status}` };
    } catch {
      said = { value: null, words: "Conch did not answer" };
    }
    kept.set(cell.id, said);
    const now = document.getElementById(cell.id);
    if (now) show(now, said);
  }

  async function round() {
    if (!document.hidden) {
      const waiting = [...inSight].filter((cell) => cell.isConnected);
      const workers = Array.from({ length: AT_ONCE }, async () => {
        while (waiting.length) await refresh(waiting.shift());
      });
      await Promise.all(workers);
    }
    setTimeout(round, EVERY_MS);
  }

  function watch() {
    inSight.clear();
    watcher.disconnect();
    for (const cell of document.querySelectorAll("[data-number]")) {
      watcher.observe(cell);
      if (kept.has(cell.id)) show(cell, kept.get(cell.id));
    }
  }

  document.addEventListener("DOMContentLoaded", () => {
    watch();
    setTimeout(round, 50);
  });
  document.addEventListener("htmx:afterSettle", watch);
})();
