// How the page behaves beyond what Gradio gives: for keyboards and screen readers, and before it is left.

import { kept, say } from "./dom.js";
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
    tell();
  });
}).observe(document.documentElement, { childList: true, subtree: true, attributes: true, attributeFilter: ["class", "disabled"] });

// --- before the page is left ------------------------------------------------------------------------

const saved = kept.get("saved") || { step: 0, files: [] };
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[download]");
  if (!link) return;
  saved.step = Math.max(saved.step, onStage().step);
  saved.files.push(link.getAttribute("href"));
  saved.marked = onStage().marked;
  kept.set("saved", saved);
}, true);

function unsaved() {
  const { step, solved, marked } = onStage();
  if (RUNS.some((name) => document.getElementById(name)?.classList.contains("busy"))) return true;
  if ((solved || marked) && step > saved.step) return true;
  const others = [...document.querySelectorAll("#learn-figures a.download, #batch-report a.download")];
  return others.some((link) => !saved.files.includes(link.getAttribute("href")));
}
window.addEventListener("beforeunload", (event) => {
  if (unsaved()) event.preventDefault();
});
