// What all parts of the page need: nodes, uploads, a voice for screen readers.

export function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

// Files go by the page's own addresses, which know whose they are.
export async function send(blob, name) {
  const answer = await fetch("upload", {
    method: "POST",
    body: blob,
    headers: { "x-name": encodeURIComponent(name), "content-type": "application/octet-stream" },
  }).catch(() => null);
  if (!answer) throw new Error("The server cannot be reached; try again later.");
  const said = await answer.json().catch(() => ({}));
  // A proxy in front of the page has a limit of its own, and no JSON.
  const plain = answer.status === 413 ? `${name}: is too large for this server.` : "The upload failed; try again.";
  if (!answer.ok) throw new Error(said.error || plain);
  return said.key;
}

export function save(address, name) {
  if (!address) return;
  const link = make("a", { href: address, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
}

// One region that is always there, as screen readers want it; they read out what changes in it.
export function say(text) {
  let region = document.querySelector("#said");
  if (!region) {
    region = make("div", { id: "said", class: "unseen", role: "status" });
    (document.querySelector("main") || document.body).append(region);
  }
  region.textContent = region.textContent === text ? `${text}\u00a0` : text; // the same again is read out again
}

// What a tab keeps while it is loaded again. Where the browser allows none of it, the page works without.
const place = (name) => `cosparse ${name} ${location.pathname}`;
export const kept = {
  get(name) {
    try {
      return JSON.parse(sessionStorage.getItem(place(name)));
    } catch {
      return null;
    }
  },
  set(name, value) {
    try {
      sessionStorage.setItem(place(name), JSON.stringify(value));
      return true;
    } catch {
      return false; // there is no store, or no room in it; what it held before is still there
    }
  },
};
