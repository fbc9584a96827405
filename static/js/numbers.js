/* The fleet's figures: for each model on the page its values now and over the last quarter of an hour as a small line,
   all in one question, every 10 s, not in a hidden tab. */
"use strict";
(() => {
  const EVERY_MS = 10000;
  const PATIENCE_MS = 8000;
  const kept = new Map(); /* what each cell said last: the table around it is swapped while rollouts move */
  const digits = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 3 });
  const FIGURES = { requests: "requests", latency: "latency_ms", error_ratio: "error_percent" };

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

  function show(cell, { value, note, words, course, isBad }) {
    const text = document.createElement("span");
    text.textContent = value === null ? note || "–" : digits.format(value);
    if (value === null) text.className = "soft";
    const limit = Number(cell.dataset.limit);
    const isOver = value !== null && cell.dataset.limit && value > limit;
    if (isOver || isBad) {
      text.className = "tone-bad";
      text.textContent += " !";
    }
    if (note && value !== null) text.textContent = `${note} ${text.textContent}`;
    text.title = isOver ? `above the promise of ${digits.format(limit)}` : words;
    cell.replaceChildren(...(course?.some((one) => one !== null) ? [sparkline(course)] : []), text);
  }

  function said(cell, found, problem, budgetProblem) {
    if (!found) return { value: null, words: problem };
    if (cell.dataset.number === "budget") return budget(found, budgetProblem);
    const { now, values } = found[FIGURES[cell.dataset.number]];
    const isMean = found.is_mean && cell.dataset.number === "latency";
    const words = now === null ? "no value: not loaded, not asked, or not scraped" : isMean ? "the mean: no server gives percentiles" : "";
    return { value: now, course: values, note: isMean && now !== null ? "mean" : "", words };
  }

  function budget({ budget_left: left, budget_of: promise }, problem) {
    if (left === null && problem) return { value: null, note: "not known", words: `not known: ${problem}` };
    if (left === null) return { value: null, words: "promises nothing, or nobody asked it" };
    const isSpent = left < 0;
    const whole = promise === "latency" ? "of a day's time that p99 may be above its promise" : "of the error budget of 30 days";
    return { value: Math.max(-999, Math.round(left * 100)), isBad: isSpent, words: isSpent ? `more was spent than there is ${whole}` : whole };
  }

  async function ask(models) {
    const url = `/api/v1/figures?${new URLSearchParams({ models: models.join(","), range_s: "900" })}`;
    try {
      const response = await fetch(url, { headers: { Accept: "application/json" }, signal: AbortSignal.timeout(PATIENCE_MS) });
      return response.ok ? await response.json() : { models: [], problem: `Conch answered ${response.status}` };
    } catch {
      return { models: [], problem: "Conch did not answer" };
    }
  }

  async function round() {
    const cells = [...document.querySelectorAll("[data-number]")];
    if (!document.hidden && cells.length) {
      const { models, problem, budget_problem: budgetProblem } = await ask([...new Set(cells.map((cell) => cell.dataset.model))]);
      const byName = new Map(models.map((one) => [one.model, one]));
      for (const { id } of cells) {
        const cell = document.getElementById(id);
        if (!cell) continue;
        kept.set(id, said(cell, byName.get(cell.dataset.model), problem, budgetProblem));
        show(cell, kept.get(id));
      }
    }
    setTimeout(round, EVERY_MS);
  }

  function restore() {
    for (const cell of document.querySelectorAll("[data-number]")) if (kept.has(cell.id)) show(cell, kept.get(cell.id));
  }

  document.addEventListener("DOMContentLoaded", () => setTimeout(round, 50));
  document.addEventListener("htmx:afterSettle", restore);
})();
