/* A small tus 1.0 client: one file, sent in pieces, going on by itself where a broken connection left it. */
"use strict";
window.conchTus = (() => {
  const PIECE = 64 * 1024 * 1024;
  const KNOWABLE = 64 * 1024 * 1024;
  const PAUSES_S = [1, 2, 4, 8, 15];
  const BYTES = "application/offset+octet-stream";

  class Refused extends Error {
    constructor(status, problem) {
      super(problem.detail || `The upload was refused (${status}).`);
      Object.assign(this, { status, hint: problem.hint || "", code: problem.code || "", errors: problem.errors || [] });
    }
  }

  /* What finds this file among unfinished uploads: name, size, when it was changed, a digest of its first bytes.
     It proves nothing: `Upload.isSame` does. Works without a secure context. */
  async function fingerprint(file) {
    const head = new Uint8Array(await file.slice(0, 256 * 1024).arrayBuffer());
    let a = 0xdeadbeef, b = 0x41c6ce57;
    for (const byte of [...new TextEncoder().encode(file.name), ...head]) {
      a = Math.imul(a ^ byte, 2654435761);
      b = Math.imul(b ^ byte, 1597334677);
    }
    return `${file.size}-${file.lastModified}-${(a >>> 0).toString(16)}${(b >>> 0).toString(16)}`;
  }

  /* The whole SHA-256 of a small file, so that bytes which are there already need not be sent. */
  async function digest(file) {
    return file.size > KNOWABLE || !window.crypto?.subtle ? "" : sha256(file);
  }

  async function sha256(part) {
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", await part.arrayBuffer()));
    return [...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  function encoded(metadata) {
    const base64 = (text) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));
    return Object.entries(metadata).filter(([, value]) => value).map(([name, value]) => `${name} ${base64(value)}`).join(",");
  }

  class Upload {
    /* `say` is told {sent, size}, {compared, size}, {waits_s, why} or {anew}; `token` is the page's CSRF token. */
    constructor(file, { url, token, metadata, say }) {
      Object.assign(this, { file, url, token, metadata, say, where: "", request: null, isOver: false, wake: null });
      this.retry = () => this.wake?.();
      window.addEventListener("online", this.retry);
    }

    /* The number of the version it becomes; Refused, or null when it was cancelled. */
    async run() {
      try {
        let answer = await this.insist(() => this.begin());
        while (!this.isOver && !answer.version) answer = await this.insist(() => this.piece(answer.offset));
        return this.isOver ? null : answer.version;
      } finally {
        window.removeEventListener("online", this.retry);
      }
    }

    async cancel() {
      this.isOver = true;
      this.request?.abort();
      this.wake?.();
      if (this.where) await this.send("DELETE", this.where).catch(() => null);
    }

    /* An unfinished upload of the same file, else a new one. */
    async begin() {
      const same = await this.unfinished();
      if (this.isOver) return { offset: 0, version: null };
      if (same) {
        this.where = new URL(same.url).pathname;
        if (same.state === "numbering") throw new Refused(409, { ...same.error, detail: same.error.message });
        return { offset: same.received_bytes, version: null };
      }
      const headers = { "Upload-Length": String(this.file.size), "Upload-Metadata": encoded(this.metadata), "Content-Type": BYTES };
      const begun = await this.send("POST", this.url, headers);
      this.where = begun.header("Location");
      return begun.place();
    }

    /* The one whose every byte is this file's; a fingerprint alone proves nothing, and unproven is no. */
    async unfinished() {
      const list = await this.send("GET", `${this.url}?model=${encodeURIComponent(this.metadata.model)}`);
      const alike = list.body.results.filter((one) => ["receiving", "numbering"].includes(one.state) && one.fingerprint === this.metadata.fingerprint);
      if (!alike.length) return null;
      if (!window.crypto?.subtle) return this.anew("This page is not on HTTPS, so the browser cannot compare what is there");
      for (const one of alike) if (await this.isSame(new URL(one.url).pathname)) return one;
      return this.anew("What is there are another file's bytes");
    }

    async isSame(where) {
      for (let first = 0; first !== null && !this.isOver;) {
        const { body } = await this.send("GET", `${where}/blocks?first=${first}`);
        for (const [index, digest] of body.sha256.entries()) {
          const start = (first + index) * body.block_bytes, end = Math.min(start + body.block_bytes, body.received_bytes);
          this.say({ compared: end, size: body.received_bytes });
          if (this.isOver || await sha256(this.file.slice(start, end)) !== digest) return false;
        }
        first = body.next;
      }
      return true;
    }

    anew(why) {
      this.say({ anew: `${why}: this file is sent from its beginning.` });
      return null;
    }

    async piece(offset) {
      const end = Math.min(offset + PIECE, this.file.size);
      const headers = { "Upload-Offset": String(offset), "Content-Type": BYTES };
      const onProgress = (sent) => this.say({ sent: offset + sent, size: this.file.size });
      // A file that was written over meanwhile cannot be read any more; sending it would look like a broken connection.
      await this.file.slice(offset, offset + 1).arrayBuffer();
      return (await this.send("PATCH", this.where, headers, this.file.slice(offset, end), onProgress)).place();
    }

    /* Do it until it is done or refused for good; after each failure ask where the upload stands. */
    async insist(act) {
      for (let tries = 0; !this.isOver; tries += 1) {
        try {
          return tries && this.where ? (await this.send("HEAD", this.where)).place() : await act();
        } catch (error) {
          if (this.isOver) break;
          // A DOMException is the file's: no waiting cures it.
          if (error instanceof DOMException || error instanceof Refused && !this.isPassing(error)) throw error;
          await this.pause(PAUSES_S[Math.min(tries, PAUSES_S.length - 1)], error);
        }
      }
      return { offset: 0, version: null };
    }

    /* Whether waiting may help. */
    isPassing({ status, code }) {
      return status >= 500 || [408, 423, 460].includes(status) || code === "offset_wrong";
    }

    pause(seconds, error) {
      this.say({ waits_s: seconds, why: error instanceof Refused ? error.message : "The connection broke." });
      return new Promise((resolve) => { this.wake = resolve; setTimeout(resolve, seconds * 1000); });
    }

    send(method, where, headers = {}, body = null, onProgress = null) {
      return new Promise((resolve, reject) => {
        const request = this.request = new XMLHttpRequest();
        request.open(method, where);
        const told = { "Tus-Resumable": "1.0.0", "X-CSRFToken": this.token, Accept: "application/json", ...headers };
        for (const [name, value] of Object.entries(told)) request.setRequestHeader(name, value);
        if (onProgress) request.upload.onprogress = (event) => onProgress(event.loaded);
        request.onerror = request.onabort = () => reject(new Error("broken"));
        request.onload = () => {
          let document = {};
          try { document = JSON.parse(request.responseText); } catch { /* no body, or not ours: the status says it */ }
          if (request.status >= 400) return reject(new Refused(request.status, document));
          const header = (name) => request.getResponseHeader(name);
          const place = () => ({ offset: Number(header("Upload-Offset")), version: header("Conch-Version") });
          return resolve({ body: document, header, place });
        };
        request.send(body);
      });
    }
  }

  return { Upload, Refused, fingerprint, digest };
})();
