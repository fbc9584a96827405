/* Live fragments: [data-live] elements ask again every data-every-s seconds, not in a hidden tab, and one whose answer
   takes long less often. The server answers 304 when the fragment's `updated` stamp has not moved, so nothing is swapped. */
"use strict";
(() => {
  const LOOK_MS = 100;
  const SHARE = 4; /* no part keeps the server busy for more of the time than one in so many */
  const REST_MS = 5000; /* and none is left alone for longer than so after one slow answer */
  const asked = new WeakMap();
  const took = new Map();
  const failures = new Map();
  const kept = new Map();

  function poll(now = performance.now()) {
    if (document.hidden) return;
    for (const element of document.querySelectorAll("[data-live]")) {
      const patience = Number(element.dataset.everyS) * 1000 * Math.min(8, 2 ** (failures.get(element.id) || 0));
      const answer_ms = took.get(element.id) || 0;
      const every = Math.max(patience, Math.min(SHARE * answer_ms, answer_ms + REST_MS));
      const last = asked.get(element);
      if (last === undefined) asked.set(element, now);
      else if (now - last >= every && !isBusy(element)) {
        asked.set(element, now);
        htmx.trigger(element, "poll");
      }
    }
  }
  function isBusy(element) {
    if (element.classList.contains("htmx-request")) return true;
    const selection = getSelection();
    return selection && !selection.isCollapsed && element.contains(selection.anchorNode);
  }

  /* What the reader had open, focused and scrolled to survives a swap. */
  const keyOf = (element) => element.id || element.dataset.key || "";
  function keep(target) {
    const focused = target.contains(document.activeElement) ? document.activeElement : null;
    return {
      open: new Map([...target.querySelectorAll("details")].filter(keyOf).map((one) => [keyOf(one), one.open])),
      scrolled: new Map([...target.querySelectorAll(".scroll, pre")].filter(keyOf).map((one) => [keyOf(one), [one.scrollLeft, one.scrollTop]])),
      focus: focused && (focused.id ? `#${CSS.escape(focused.id)}` : focused.getAttribute("href") && `a[href="${CSS.escape(focused.getAttribute("href"))}"]`),
      hadFocus: Boolean(focused) && focused !== target,
      summary: focused && focused.matches("summary") ? keyOf(focused.parentElement) : "",
      page: scrollY,
    };
  }
  function restore(target) {
    const was = kept.get(target.id);
    if (!was) return;
    kept.delete(target.id);
    for (const one of target.querySelectorAll("details")) if (was.open.has(keyOf(one))) one.open = was.open.get(keyOf(one));
    for (const one of target.querySelectorAll(".scroll, pre")) {
      const at = was.scrolled.get(keyOf(one));
      if (at) [one.scrollLeft, one.scrollTop] = at;
    }
    const again = was.focus ? target.querySelector(was.focus) : [...target.querySelectorAll("details")].find((one) => was.summary && keyOf(one) === was.summary)?.firstElementChild;
    if (was.hadFocus && !again) target.tabIndex = -1; /* what had it is gone: Tab goes on from here, not from the top */
    if (was.hadFocus) (again || target).focus({ preventScroll: true });
    if (scrollY !== was.page) scrollTo({ top: was.page, behavior: "instant" });
  }

  function say(text) {
    const region = document.getElementById("announce");
    region.textContent = "";
    const message = document.createElement("p");
    message.className = "message is-busy";
    message.textContent = text;
    region.append(message);
    setTimeout(() => message.remove(), 12000);
  }
  /* One part that answers says nothing of another that does not. */
  function tellStale() {
    const note = document.getElementById("stale");
    const isStale = [...failures].some(([id, times]) => times > 0 && document.getElementById(id));
    if (note) note.hidden = !isStale;
  }

  document.addEventListener("htmx:beforeSwap", (event) => {
    const { target, xhr } = event.detail;
    if (!target.matches("[data-live]")) return;
    if (xhr.status !== 304 && xhr.getResponseHeader("X-Conch-Fragment") === null) {
      event.detail.shouldSwap = false;
      if (xhr.status === 200) location.reload(); /* signed out meanwhile: the page asks to sign in */
      return;
    }
    if (xhr.status === 200) kept.set(target.id, keep(target));
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    const element = document.getElementById(event.detail.target?.id) || event.target;
    if (!element.matches?.("[data-live]")) return;
    restore(element);
    if (element.dataset.ended && element.dataset.ended !== sessionStorage.getItem("conch-said")) {
      sessionStorage.setItem("conch-said", element.dataset.ended);
      say(element.dataset.ended);
    }
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    const element = event.detail.elt;
    if (!element.matches?.("[data-live]")) return;
    const isWell = event.detail.xhr.status === 200 || event.detail.xhr.status === 304;
    if (isWell && asked.has(element)) took.set(element.id, performance.now() - asked.get(element));
    failures.set(element.id, isWell ? 0 : (failures.get(element.id) || 0) + 1);
    tellStale();
  });
  document.addEventListener("visibilitychange", () => poll());
  document.addEventListener("DOMContentLoaded", () => setInterval(poll, LOOK_MS));
})();
