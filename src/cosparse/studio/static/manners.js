// How the page behaves beyond what Gradio gives: for keyboards and screen readers, and before it is left.

import { kept, say } from "./dom.js";
import { steps } from "./lists.js";
import { onStage } from "./stage.js";

const RUNS = ["repair", "learn", "all"];

// Radio buttons that belong together have one name, so that they are one tab stop with arrow keys.
function group() {
  for (const set of document.querySelectorAll("fieldset")) {
    const radios = set.querySelectorAll("input[type=radio]");
    if (!radios.length) continue;
    const label = set.querySelector("[data-testid=block-info]")?.textContent.trim();
    if (set.getAttribute("role") !== "radiogroup") set.setAttribute("role", "radiogroup");
    if (label && set.getAttribute("aria-label") !== label) set.setAttribute("aria-label", label);
    set.dataset.group ||= `group-${Math.random().toString(36).slice(2)}`;
    for (const radio of radios) if (radio.name !== set.dataset.group) radio.name = set.dataset.group;
  }
}

// While a run goes on its button only says that it does nothing: were it disabled, the focus would be lost.
let working = {};
function follow() {
  for (const name of RUNS) {
    const [go, stop] = [document.getElementById(name), document.getElementById(`${name}-cancel`)];
    if (!go || !stop) continue;
    const busy = go.classList.contains("busy");
    if (busy !== (go.getAttribute("aria-disabled") === "true")) go.setAttribute("aria-disabled", busy);
    if (working[name] === stop && !busy) {
      if ([stop, document.body].includes(document.activeElement)) go.focus({ preventScroll: true });
      working[name] = null;
    } else if (busy && document.activeElement === stop) working[name] = stop;
  }
}
document.addEventListener("focusin", follow);

// A button that is gone once it was pressed takes the focus with it: the picture, which changed, gets it.
let last = null;
document.addEventListener("focusin", (event) => { last = event.target; });
document.addEventListener("pointerdown", (event) => { last = event.target.closest?.("button, a, input, .view"); });
function hold() {
  if (document.activeElement !== document.body || !last || last.offsetParent) return;
  if (last.closest?.("#bench") || !last.isConnected) document.querySelector("#stage .view")?.focus({ preventScroll: true });
}
document.addEventListener("click", (event) => {
  const pressed = event.target.closest?.("button");
  if (pressed?.getAttribute("aria-disabled") === "true") {
    event.stopImmediatePropagation();
    event.preventDefault();
  } else if (pressed?.id === "repair" && innerWidth <= 640) {
    document.querySelector("#stage")?.scrollIntoView({ block: "nearest" }); // where the result will be
  }
}, true);

// What the page says is read out, but not how far it is at every moment.
let said = "";
function tell() {
  for (const line of document.querySelectorAll("#status .status, #learn-status .status")) {
    if (line.offsetParent === null || line.querySelector("progress, [role=alert]")) continue;
    const text = line.innerText.replaceAll("\n", " ").trim();
    if (text && text !== said) say((said = text));
  }
}

let asked = false;
new MutationObserver(() => {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    group();
    follow();
    hold();
    tell();
  });
}).observe(document.documentElement, { childList: true, subtree: true, attributes: true, attributeFilter: ["class", "disabled"] });

// --- before the page is left ------------------------------------------------------------------------

// Of each picture: up to which step, and which of its marks, it was downloaded; and other files that were.
const saved = kept.get("downloaded") || { steps: {}, marks: {}, files: [] };
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[download]");
  if (!link) return;
  const { root, marks } = onStage();
  if (link.closest("#figures")) saved.steps[root] = Math.max(...steps().filter((one) => one.root === root).map((one) => one.number));
  if (!link.closest("#learn-figures, #batch-report")) saved.marks[root] = marks[root];
  saved.files = [...saved.files.slice(-50), link.getAttribute("href")];
  kept.set("downloaded", saved);
}, true);

function unsaved() {
  if (RUNS.some((name) => document.getElementById(name)?.classList.contains("busy"))) return true;
  if (steps().some(({ root, number, done }) => done && number > (saved.steps[root] || 0))) return true;
  const { marks } = onStage();
  if (steps().some(({ root }) => root in marks && marks[root] !== saved.marks[root])) return true;
  const others = [...document.querySelectorAll("#learn-figures a.download, #batch-report a.download")];
  return others.some((link) => !saved.files.includes(link.getAttribute("href")));
}
window.addEventListener("beforeunload", (event) => {
  if (unsaved()) event.preventDefault();
});
