/* Dialogs: a link to a form page opens that form in a dialog; refused answers stay in it, and so does silence. */
"use strict";
(() => {
  const $ = (selector, within = document) => within.querySelector(selector);
  const dialog = () => $("#dialog");
  let opened = null;

  function openForm(link) {
    const body = $(".body", dialog());
    htmx.trigger(body, "htmx:abort"); /* an earlier question nobody waits for any more */
    opened = link;
    body.textContent = "One moment...";
    if (!dialog().open) dialog().showModal();
    htmx.ajax("GET", link.href, { target: body, swap: "innerHTML" }).catch(() => { /* told by the events below */ });
  }
  function settle(body) {
    const title = $("h1, h2", body);
    if (title) {
      title.id = "dialog-title";
      dialog().setAttribute("aria-labelledby", "dialog-title");
    }
    const wrong = $(".message.is-bad, [aria-invalid=true]", body);
    const first = wrong || $("textarea, input:not([type=hidden]), select, button", body);
    if (!first) return;
    if (wrong) wrong.tabIndex = -1;
    first.focus();
  }

  /* The part of the page that the link stood in may have been put in anew meanwhile. */
  function leave() {
    const again = opened && !opened.isConnected && $(`a[href="${CSS.escape(opened.getAttribute("href"))}"]`);
    if (again) again.focus({ preventScroll: true });
  }

  /* What went wrong on the way stands where it was asked for; what was typed stays. */
  function tell(where, words, again, rest = "") {
    $(".message.is-lost", where)?.remove();
    const message = document.createElement("div");
    message.className = "message is-bad is-lost";
    message.setAttribute("role", "alert");
    const said = document.createElement("p");
    said.textContent = `${words} ${rest}`.trim();
    const button = document.createElement("button");
    button.type = "button";
    button.className = "button is-small";
    button.textContent = "Try again";
    button.addEventListener("click", () => { message.remove(); again(); });
    message.append(said, button);
    where.prepend(message);
    return button;
  }
  function tellLost(detail, words) {
    const target = detail.target;
    const form = detail.elt.closest?.("form");
    if (target.matches(".preview")) {
      target.textContent = "";
      tell(target, words, () => htmx.trigger(form, "change"), "What this will do is not known.");
    } else if (form) {
      tell(form, words, () => form.requestSubmit(), "Whether it began is not known: look, then try again.").focus();
    } else {
      target.textContent = "";
      tell(target, words, () => openForm(opened), "Nothing was changed.").focus();
    }
  }
  /* A whole page is no answer to a dialog: a proxy's, that of a defect, or the one to sign in. */
  function whatPage(xhr) {
    if (!/^\s*<(!doctype|html)/i.test(xhr.responseText)) return "";
    if (xhr.status < 300) return "You are signed out. Sign in in another tab.";
    if (xhr.status === 503) return "The database does not answer.";
    return xhr.status < 500 ? `Conch refused this page (HTTP ${xhr.status}). Load it again.` : `Conch failed (HTTP ${xhr.status}).`;
  }
  document.addEventListener("close", ({ target }) => { if (target === dialog()) leave(); }, true);

  const isInside = (detail) => Boolean(detail.target && dialog()?.contains(detail.target));

  for (const lost of ["htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(lost, ({ detail }) => { if (isInside(detail)) tellLost(detail, "Conch did not answer."); });
  }
  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    const words = isInside(detail) && whatPage(detail.xhr);
    if (!words) return;
    detail.shouldSwap = false;
    tellLost(detail, words);
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    const isPreview = event.target.closest?.(".preview");
    if (dialog()?.open && dialog().contains(event.target) && !isPreview) settle(event.target);
  });
  document.addEventListener("click", (event) => {
    const plain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey;
    const link = event.target.closest("a[data-dialog]");
    if (link && plain && dialog()) {
      event.preventDefault();
      openForm(link);
    } else if (event.target.closest("[data-close]") && event.target.closest("dialog")) {
      event.preventDefault();
      event.target.closest("dialog").close();
    }
  });
})();
