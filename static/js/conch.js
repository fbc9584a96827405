/* Times, theme switch, keys, copying. No page needs it to be read. */
"use strict";
(() => {
  const root = document.documentElement;
  const $ = (selector, within = document) => within.querySelector(selector);

  /* Times: relative, in words; the absolute one, in the reader's zone, on hover. */
  const absolute = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });
  const STEPS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  function span(seconds) {
    const whole = Math.max(0, Math.floor(seconds));
    const at = STEPS.findIndex(([size]) => whole >= size);
    if (at < 0) return "0 s";
    const [size, unit] = STEPS[at];
    const first = Math.floor(whole / size);
    const next = STEPS[at + 1];
    const rest = next && next[0] > 0 ? Math.floor((whole % size) / next[0]) : 0;
    return rest && first < 10 && unit !== "min" ? `${first} ${unit} ${rest} ${next[1]}` : `${first} ${unit}`;
  }
  window.conchSpan = span;
  function relative(at, now) {
    const seconds = (now - at) / 1000;
    if (seconds < -1) return `in ${span(-seconds)}`;
    return seconds < 1 ? "now" : `${span(seconds)} ago`;
  }
  function left(seconds) {
    return seconds >= 1 ? `about ${span(seconds)} left` : "any moment";
  }
  function wordsOf(element, at, now) {
    if (element.hasAttribute("data-since")) return span((now - at) / 1000);
    return element.hasAttribute("data-left") ? left((at - now) / 1000) : relative(at, now);
  }
  function tellTimes(within = document) {
    const now = Date.now();
    for (const element of within.querySelectorAll("time[data-relative], time[data-since], time[data-left]")) {
      const at = Date.parse(element.dateTime);
      const text = wordsOf(element, at, now);
      if (element.textContent !== text) element.textContent = text;
      if (!element.dataset.isLocal) {
        element.title = absolute.format(at);
        element.dataset.isLocal = "1";
      }
    }
  }

  /* Theme: follows the system until somebody chooses. */
  function theme() {
    return root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  }
  function switchTheme() {
    const next = theme() === "dark" ? "light" : "dark";
    root.dataset.theme = next;
    try { localStorage.setItem("conch-theme", next); } catch { /* the cookie keeps it */ }
    document.cookie = `conch-theme=${next}; path=/; max-age=31536000; SameSite=Lax`;
    tellTheme();
  }
  function tellTheme() {
    const button = $("[data-switch-theme]");
    if (button) button.textContent = theme() === "dark" ? "Light theme" : "Dark theme";
  }

  /* A button whose words end with what is chosen above it. */
  function followChoices(within = document) {
    for (const button of within.querySelectorAll("button[data-follows]")) {
      const select = button.form.elements[button.dataset.follows];
      button.dataset.words ??= button.textContent.trim();
      const tell = () => { button.textContent = `${button.dataset.words} ${select.selectedOptions[0]?.text ?? ""}`.trim(); };
      select.addEventListener("change", tell);
      tell();
    }
  }

  /* What the search has found: arrows walk through it, Escape leaves it. */
  function walkFound(event) {
    const form = event.target.closest?.(".search");
    if (!form) return false;
    const places = [$("#search"), ...form.querySelectorAll(".found a")];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") {
      $("#found").textContent = "";
      places[0].focus();
    } else if (step) {
      event.preventDefault();
      places.at((places.indexOf(document.activeElement) + step) % places.length).focus();
    }
    return Boolean(step) || event.key === "Escape";
  }

  /* Copying: browsers offer their clipboard over https only; elsewhere the text is selected, and copied the old way. */
  async function copy(button) {
    const from = $(button.dataset.copy);
    const told = button.parentElement.querySelector(".copied") || document.createElement("span");
    told.className = "copied soft";
    told.setAttribute("role", "status");
    button.after(" ", told);
    told.textContent = (await hasCopied(from)) ? "Copied" : "Selected: press Ctrl+C";
  }
  async function hasCopied(from) {
    try {
      await navigator.clipboard.writeText(from.textContent);
      return true;
    } catch {
      getSelection().selectAllChildren(from);
      return document.execCommand("copy");
    }
  }

  /* Keys. */
  const PLACES = { f: "/", m: "/models/", s: "/servers/", r: "/rollouts/", a: "/audit/" };
  let isGoing = false;
  function isTyping(target) {
    return target.closest("input, textarea, select, [contenteditable]") !== null;
  }
  function onKey(event) {
    if (walkFound(event)) return;
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (isGoing && PLACES[event.key]) {
      location.assign(PLACES[event.key]);
    } else if (event.key === "/") {
      event.preventDefault();
      const search = $("#search");
      if (search) search.focus();
    } else if (event.key === "?") {
      $("#keys")?.showModal();
    }
    isGoing = event.key === "g";
    if (isGoing) setTimeout(() => { isGoing = false; }, 1500);
  }

  function onClick(event) {
    if (event.target.closest("[data-switch-theme]")) {
      switchTheme();
    } else if (event.target.closest("[data-show-keys]")) {
      $("#keys").showModal();
    } else if (event.target.closest("[data-copy]")) {
      copy(event.target.closest("[data-copy]"));
    }
    const menu = $(".who details[open]");
    if (menu && !menu.contains(event.target)) menu.open = false;
  }

  document.addEventListener("click", onClick);
  document.addEventListener("keydown", onKey);
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-submit-on-change]")) event.target.form.requestSubmit();
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    tellTimes(event.target);
    followChoices(event.target);
  });
  document.addEventListener("DOMContentLoaded", () => {
    tellTheme();
    tellTimes();
    followChoices();
    setInterval(() => tellTimes(), 1000);
    const wrong = $("main [aria-invalid=true]");
    if (wrong) wrong.focus();
  });
})();
