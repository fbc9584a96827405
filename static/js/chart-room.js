/* Charts that had nothing to draw when such a board was last looked at stand folded from the start, so that nothing
   moves once the answers come. It runs where it stands in the page: before anything below the board is painted. */
"use strict";
window.conchRoom = (() => {
  const REASON_PX = 58; /* of one reason with the list of its charts */
  const kept = (element) => {
    const asked = new URL(element.dataset.board, location.href);
    return `conch-folded ${asked.pathname} ${asked.searchParams.get("environment") ?? ""}`;
  };

  /* The keys of the charts to fold at the next look, and the height in px of the words about them. */
  function keep(element, folded, height) {
    try { localStorage.setItem(kept(element), JSON.stringify({ folded, height })); } catch { /* storage is off or full */ }
  }

  function known(element) {
    try { return JSON.parse(localStorage.getItem(kept(element))); } catch { return null; }
  }

  /* Whether the page says already that Prometheus does not answer. */
  const isSilent = () => [...document.querySelectorAll("[data-unwell] li > b")].some((names) => names.textContent.split(", ").includes("prometheus"));

  /* What to fold of a board that is looked at for the first time: all of it, or what many servers do not give. */
  function expected(element) {
    const [which, height] = isSilent() ? ["[data-chart]", REASON_PX] : ["[data-chart].is-optional", 0];
    return { folded: [...element.querySelectorAll(which)].map((chart) => chart.dataset.chart), height };
  }

  /* The place where the words about folded charts will stand. */
  function prepare(element) {
    const { folded, height } = known(element) ?? expected(element);
    for (const chart of element.querySelectorAll("[data-chart]")) chart.hidden = folded.includes(chart.dataset.chart);
    const reasons = document.createElement("div");
    reasons.className = "charts-reasons";
    if (height) {
      reasons.style.minHeight = `${height}px`;
      reasons.textContent = "Asking Prometheus...";
    }
    element.append(reasons);
  }

  return { keep, prepare };
})();
window.conchRoom.prepare(document.currentScript.previousElementSibling);
