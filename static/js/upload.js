/* Upload with progress in bytes, then the version's own page, which is live until it is ready or rejected. */
"use strict";
(() => {
  const size = (bytes) => {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    const power = bytes ? Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10)) : 0;
    return `${(bytes / 1024 ** power).toFixed(power ? 1 : 0)} ${units[power]}`;
  };

  function send(form) {
    const file = form.elements.file.files[0];
    const panel = form.querySelector("[data-upload-state]");
    const bar = panel.querySelector("progress");
    const words = panel.querySelector("[data-words]");
    const problem = form.querySelector("[data-problem]");
    const buttons = form.querySelectorAll("button");
    const request = new XMLHttpRequest();
    const began = performance.now();

    function stop(message, hint = "", code = "") {
      panel.hidden = true;
      problem.hidden = false;
      problem.querySelector("[data-message]").textContent = message;
      problem.querySelector("[data-hint]").textContent = hint;
      problem.querySelector("[data-code]").textContent = code;
      problem.tabIndex = -1;
      problem.focus();
      for (const button of buttons) button.disabled = false;
    }

    problem.hidden = true;
    panel.hidden = false;
    for (const button of buttons) if (!button.hasAttribute("data-cancel")) button.disabled = true;
    panel.querySelector("[data-cancel]").onclick = () => request.abort();
    request.upload.onprogress = (event) => {
      if (!event.lengthComputable) return;
      const seconds = (performance.now() - began) / 1000;
      const rate = event.loaded / Math.max(seconds, 0.001);
      const left = Math.ceil((event.total - event.loaded) / Math.max(rate, 1));
      bar.max = event.total;
      bar.value = event.loaded;
      words.textContent = event.loaded < event.total
        ? `${size(event.loaded)} of ${size(event.total)}, ${size(rate)}/s, about ${left} s left`
        : `${size(event.total)} sent, being received`;
    };
    request.onerror = () => stop("The connection broke before the upload ended.", "Nothing was kept. Try again.");
    request.onabort = () => stop("Upload cancelled.", "Nothing was kept.");
    request.onload = () => {
      let answer = {};
      try { answer = JSON.parse(request.responseText); } catch { /* not ours: the status says it */ }
      if (request.status === 202 && answer.number) location.assign(form.dataset.versionUrl.replace("/0/", `/${answer.number}/`));
      else stop(answer.detail || `The upload was refused (${request.status}).`, answer.hint || "", answer.code || "");
    };
    request.open("POST", form.dataset.uploadUrl);
    request.setRequestHeader("X-CSRFToken", form.elements.csrfmiddlewaretoken.value);
    request.setRequestHeader("Accept", "application/json");
    request.setRequestHeader("Idempotency-Key", crypto.randomUUID ? crypto.randomUUID() : `${Date.now()}-${Math.random()}`);
    const body = new FormData();
    for (const name of ["number", "git_commit", "notes"]) if (form.elements[name]?.value) body.append(name, form.elements[name].value);
    body.append("file", file);
    request.send(body);
  }

  document.addEventListener("submit", (event) => {
    const form = event.target.closest("form[data-upload-url]");
    if (!form || !form.elements.file.files.length) return;
    event.preventDefault();
    send(form);
  });
})();
