/* What a board says of charts that it cannot draw: each reason once, with the names of those that have it. */
"use strict";
window.conchWords = (() => {
  const FEW = 6;

  const make = (name, className, ...parts) => {
    const element = document.createElement(name);
    element.className = className;
    element.append(...parts);
    return element;
  };

  /* Plain text, with the names that stand between backticks set as code. */
  function set(element, text) {
    const parts = text.split(/`(?! )([^`\n]{1,80})(?<! )`/);
    element.replaceChildren(...parts.map((part, at) => (at % 2 ? make("code", "", part) : part)));
    return element;
  }

  /* Charts without a figure, by reason; one that stands alone says it itself, in its own frame. */
  function reasons(charts) {
    const found = new Map();
    for (const chart of charts) {
      if (!chart.answer || chart.answer.figure) continue;
      found.set(chart.answer.message, [...(found.get(chart.answer.message) ?? []), chart]);
    }
    return [...found].filter(([, those]) => those.length > 1 || those[0].element.classList.contains("is-optional"));
  }

  function told([reason, charts]) {
    const names = charts.map((chart) => chart.answer.title);
    const item = make("div", "charts-reason", set(make("p", ""), reason));
    if (names.length <= FEW) item.append(make("p", "soft", names.join(", ")));
    else item.append(make("details", "", make("summary", "soft", `${names.length} charts`), make("p", "soft", names.join(", "))));
    return item;
  }

  /* What stands keeps its place and says its reason itself; from the next look at the board on it is folded.
     Nothing is touched while the same is true: an open list stays open, and what is selected stays selected. */
  function fold(board) {
    const found = reasons(board.charts);
    const foldable = found.flatMap(([, charts]) => charts);
    for (const chart of board.charts) if (!foldable.includes(chart)) chart.element.hidden = false;
    const folded = found.map(([reason, charts]) => [reason, charts.filter((chart) => chart.element.hidden)]).filter(([, charts]) => charts.length);
    const said = JSON.stringify([found, folded].map((all) => all.map(([reason, charts]) => [reason, charts.map((chart) => chart.key)])));
    if (said === board.said) return;
    board.said = said;
    const place = board.element.querySelector(".charts-reasons");
    place.style.minHeight = "";
    place.replaceChildren(...found.map(told));
    window.conchRoom.keep(board.element, foldable.map((chart) => chart.key), place.offsetHeight);
    place.replaceChildren(...folded.map(told));
  }

  return { fold, set };
})();
