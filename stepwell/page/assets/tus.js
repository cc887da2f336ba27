// Sends a file in pieces (tus 1.0.0), and goes on where it was when a connection breaks or the page is loaded again.
const PIECE = 8 << 20, LONGEST_WAIT = 10_000, TRIES = 30;
const AGAIN = new Set([0, 408, 409, 423, 425, 429, 500, 502, 503, 504]); // what another try may mend

export class Refused extends Error {}

function ask(method, url, headers, { body, signal, onsent } = {}) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest(); // fetch tells nothing of what has been sent
    const stop = () => request.abort();
    signal?.throwIfAborted();
    signal?.addEventListener("abort", stop);
    request.upload.onprogress = (event) => onsent?.(event.loaded);
    request.onloadend = () => {
      signal?.removeEventListener("abort", stop);
      if (signal?.aborted) reject(signal.reason);
      else resolve(request);
    };
    request.open(method, url);
    for (const [name, value] of Object.entries({ "Tus-Resumable": "1.0.0", ...headers })) request.setRequestHeader(name, value);
    request.send(body);
  });
}

function reason(request) {
  try { return JSON.parse(request.responseText).detail; } catch { /* a proxy's answer, or none */ }
  const plain = request.getResponseHeader("Content-Type")?.startsWith("text/plain") && request.responseText.trim();
  return plain || `it could not be sent (${request.status || "no connection"}); choose it again to go on.`;
}

function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(go, milliseconds);
    function go() {
      clearTimeout(timer);
      window.removeEventListener("online", go);
      signal.removeEventListener("abort", go);
      if (signal.aborted) reject(signal.reason);
      else resolve();
    }
    window.addEventListener("online", go);
    signal.addEventListener("abort", go);
  });
}

// What was begun before, so that a file that is chosen again goes on; a browser may forbid to keep it.
const kept = {
  get(key) { try { return JSON.parse(localStorage.getItem(key)); } catch { return null; } },
  set(key, value) { try { localStorage.setItem(key, JSON.stringify(value)); } catch { /* it begins anew then */ } },
  drop(key) { try { localStorage.removeItem(key); } catch { /* nothing was kept */ } },
};

// Returns what the server calls the file. `told` gets the share that has arrived, and whether the connection is lost.
export async function send(file, place, signal, told) {
  const key = `stepwell ${place} ${file.name} ${file.size} ${file.lastModified}`;
  let upload = kept.get(key), offset = upload ? -1 : 0, failed = 0;

  async function reply(method, url, headers, more) { // null: try again
    const request = await ask(method, url, headers, { signal, ...more });
    if (request.status >= 200 && request.status < 300) return request;
    if (upload && failed < TRIES && (request.status === 404 || request.status === 410)) { // it was removed, or is somebody else's
      kept.drop(key);
      [upload, offset] = [null, 0];
    } else if (!AGAIN.has(request.status) || failed >= TRIES) throw new Refused(reason(request));
    else offset = upload ? -1 : 0;
    if (failed++ > 0) told(null, true);
    await pause(Math.min(250 * 2 ** failed, LONGEST_WAIT), signal);
    return null;
  }

  while (!upload || offset < file.size) {
    if (!upload) {
      const name = btoa(String.fromCharCode(...new TextEncoder().encode(file.name)));
      const begun = await reply("POST", place, { "Upload-Length": file.size, "Upload-Metadata": `filename ${name}` });
      if (!begun) continue;
      const { file: called, name: shown } = JSON.parse(begun.responseText);
      upload = { url: begun.getResponseHeader("Location"), file: called, name: shown };
      kept.set(key, upload);
    } else if (offset < 0) {
      const known = await reply("HEAD", upload.url, {});
      if (known) offset = Number(known.getResponseHeader("Upload-Offset"));
    } else {
      const from = offset, headers = { "Upload-Offset": from, "Content-Type": "application/offset+octet-stream" };
      const body = await file.slice(from, from + PIECE).arrayBuffer(); // fails here when the file is no more
      const onsent = (sent) => told((from + sent) / file.size, false);
      const taken = await reply("PATCH", upload.url, headers, { body, onsent });
      if (taken) [offset, failed] = [Number(taken.getResponseHeader("Upload-Offset")), 0];
    }
    if (upload && offset > 0) told(offset / file.size, false);
  }
  kept.drop(key);
  return upload;
}

export async function forget(file, place) {
  const key = `stepwell ${place} ${file.name} ${file.size} ${file.lastModified}`, upload = kept.get(key);
  kept.drop(key);
  if (upload) await ask("DELETE", upload.url, {});
}
