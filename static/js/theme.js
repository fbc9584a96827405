/* Sets the theme before the first paint. Loaded in <head>; everything else is deferred. */
"use strict";
(() => {
  const root = document.documentElement;
  let chosen = null;
  try { chosen = localStorage.getItem("conch-theme"); } catch { /* storage is off: the cookie decides */ }
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
  root.classList.add("has-script");
  /* Paper is white: on it everything, charts too, has the colours of the light theme. */
  let before;
  addEventListener("beforeprint", () => { before = root.dataset.theme; root.dataset.theme = "light"; });
  addEventListener("afterprint", () => { if (before) root.dataset.theme = before; else delete root.dataset.theme; });
})();
