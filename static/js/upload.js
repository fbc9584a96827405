/* The upload page: choose or drop a file, watch its bytes, go on after a break or a reload; then the version's own page. */
"use strict";
(() => {
  const form = document.querySelector("form[data-upload-url]");
  if (!form) return;
  const { Upload, Refused, fingerprint, digest } = window.conchTus;
  const panel = form.querySelector("[data-upload-state]");
  const bar = panel.querySelector("progress");
  const words = panel.querySelector("[data-words]");
  const problem = form.querySelector("[data-problem]");
  const found = form.querySelector("[data-found]");
  const drop = form.querySelector("[data-drop]");
  const buttons = [...form.querySelectorAll("button:not([data-cancel])")];
  const FIELDS = ["number", "version_directory", "git_commit", "notes"];
  const PACE_MS = 20000;
  let running = null;

  const size = (bytes) => {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    const power = bytes ? Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10)) : 0;
    return `${(bytes / 1024 ** power).toFixed(power ? 1 : 0)} ${units[power]}`;
  };

  /* Of the last while, so that it follows the line; nothing before there is enough to tell. */
  function pace() {
    let seen = [];
    return {
      forget() { seen = []; },
      left(sent, whole) {
        const now = performance.now();
        seen.push([now, sent]);
        while (seen.length > 2 && now - seen[1][0] > PACE_MS) seen.shift();
        const seconds = (now - seen[0][0]) / 1000;
        const rate = seconds < 1 ? 0 : (sent - seen[0][1]) / seconds;
        if (rate <= 0) return "time left not known yet";
        return `${size(rate)}/s, about ${window.conchSpan(Math.ceil((whole - sent) / rate))} left`;
      },
    };
  }

  function progress() {
    let last = 0;
    const speed = pace();
    return ({ sent, compared, size: whole, waits_s: waits, why, anew }) => {
      if (anew) {
        found.textContent = anew;
        found.hidden = false;
        return;
      }
      if (compared) {
        words.textContent = `Comparing what is there: ${size(compared)} of ${size(whole)}`;
        return;
      }
      if (waits) {
        speed.forget();
        words.textContent = `${why} ${size(last)} are there; going on by itself in ${waits} s.`;
        return;
      }
      last = sent;
      bar.max = whole;
      bar.value = sent;
      words.textContent = sent < whole
        ? `${size(sent)} of ${size(whole)}, ${speed.left(sent, whole)}`
        : `${size(whole)} sent, being received`;
    };
  }

  function clear() {
    problem.hidden = true;
    for (const list of form.querySelectorAll("[data-refused]")) list.remove();
    for (const field of form.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
  }

  function stop(message, hint = "", code = "", errors = []) {
    running = null;
    panel.hidden = true;
    problem.hidden = false;
    problem.querySelector("[data-message]").textContent = message;
    problem.querySelector("[data-hint]").textContent = hint;
    problem.querySelector("[data-code]").textContent = code;
    for (const button of buttons) button.disabled = false;
    const blamed = errors.map(({ field, message: why }) => blame(field, why)).filter(Boolean);
    problem.tabIndex = -1;
    (blamed[0] || problem).focus();
  }

  function unreadable() {
    stop("The file cannot be read any more: it was changed, moved or removed since it was chosen.", "Choose it again. What came of it is kept.");
  }

  /* The words beside the field they are about. */
  function blame(name, why) {
    const field = form.elements[name];
    if (!field?.id) return null;
    const list = document.createElement("ul");
    list.className = "errors";
    list.id = `${field.id}_refused`;
    list.dataset.refused = "";
    list.append(Object.assign(document.createElement("li"), { textContent: why }));
    field.closest(".field").append(list);
    field.setAttribute("aria-invalid", "true");
    field.setAttribute("aria-describedby", `${field.id}_helptext ${list.id}`);
    return field;
  }

  async function send(file) {
    clear();
    panel.hidden = false;
    words.textContent = "Beginning";
    for (const button of buttons) button.disabled = true;
    try {
      const metadata = { model: form.dataset.model, filename: file.name };
      for (const name of FIELDS) metadata[name] = form.elements[name].value;
      const upload = running = new Upload(file, { url: form.dataset.uploadUrl, token: form.elements.csrfmiddlewaretoken.value, metadata, say: progress() });
      Object.assign(metadata, { fingerprint: await fingerprint(file), sha256: await digest(file) });
      const number = await upload.run();
      if (!number) return;
      running = null;
      location.assign(form.dataset.versionUrl.replace("/versions/0/", `/versions/${number}/`));
    } catch (error) {
      if (error.code === "number_taken_meanwhile") {
        const key = running.where.split("/").pop();
        running = null;
        location.assign(form.dataset.numberUrl.replace("/uploads/0/", `/uploads/${key}/`));
      } else if (error instanceof DOMException) unreadable();
      else if (error instanceof Refused) stop(error.message, error.hint, error.code, error.errors);
      else throw error;
    }
  }

  async function recognise() {
    const file = form.elements.file.files[0];
    found.hidden = true;
    if (!file || running) return;
    clear();
    const mark = await fingerprint(file).catch(() => null);
    if (!mark) return unreadable();
    const same = [...document.querySelectorAll("[data-fingerprint]")].find((one) => one.dataset.fingerprint === mark);
    if (!same) return;
    for (const name of FIELDS) form.elements[name].value = same.dataset[name] || "";
    const received = size(Number(same.dataset.received));
    found.textContent = `${received} of this file are there already: if they are the same, the upload goes on from there, with the words it began with.`;
    found.hidden = false;
  }

  panel.querySelector("[data-cancel]").addEventListener("click", async () => {
    await running?.cancel();
    stop("Upload cancelled.", "Nothing was kept.");
  });
  form.addEventListener("submit", (event) => {
    if (!form.elements.file.files.length) return;
    event.preventDefault();
    send(form.elements.file.files[0]);
  });
  form.elements.file.addEventListener("change", recognise);
  for (const kind of ["dragenter", "dragover"]) {
    form.addEventListener(kind, (event) => { event.preventDefault(); drop.classList.add("is-over"); });
  }
  for (const kind of ["dragleave", "drop"]) form.addEventListener(kind, () => drop.classList.remove("is-over"));
  form.addEventListener("drop", (event) => {
    event.preventDefault();
    if (running || !event.dataTransfer.files.length) return;
    form.elements.file.files = event.dataTransfer.files;
    recognise();
  });
  window.addEventListener("beforeunload", (event) => { if (running) event.preventDefault(); });
  drop.hidden = false;
})();
