/* Charts that had nothing to draw when such a board was last looked at stand folded from the start, so that nothing
   moves once the answers come. It runs where it stands in the page: before anything below the board is painted. */
"use strict";
window.conchRoom = (() => {
  const kept = (element) => {
    const asked = new URL(element.dataset.board, location.href);
    return `conch-folded ${asked.pathname} ${asked.searchParams.get("environment") ?? ""}`;
  };

  /* The keys of the charts that are folded, and the height in px of the words about them. */
  function keep(element, folded, height) {
    try { localStorage.setItem(kept(element), JSON.stringify({ folded, height })); } catch { /* storage is off or full */ }
  }

  function known(element) {
    try { return JSON.parse(localStorage.getItem(kept(element))); } catch { return null; }
  }

  /* The place where the words about folded charts will stand; a board looked at for the first time folds what many
     servers do not give. */
  function prepare(element) {
    const { folded, height } = known(element) ?? { folded: null, height: 0 };
    for (const chart of element.querySelectorAll("[data-chart]"))
      chart.hidden = folded ? folded.includes(chart.dataset.chart) : chart.classList.contains("is-optional");
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
