/* The fleet's figures: for each model in sight, its last values from the charts, every 10 s, not in a hidden tab. */
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

  function show(cell, { value, note, words }) {
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
    cell.replaceChildren(text);
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
      said = response.ok ? figureOf(number, await response.json()) : { value: null, words: `Conch answered ${response.status}` };
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
