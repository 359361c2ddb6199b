// The stage: a picture that is looked at, compared with its repair, and painted on.

import { make, say } from "./dom.js";
import { gestures } from "./gestures.js";
import { walk } from "./lists.js";
import { Painting } from "./painting.js";
import { View } from "./view.js";

let current = null;

function button(label, title, action, text) {
  return make("button", { type: "button", "aria-label": label, title, onclick: action }, text);
}

export function stage(element, props, watch) {
  const root = element.querySelector(".stage");
  const before = make("img", { alt: "Before the repair", class: "before", draggable: "false" });
  const after = make("img", { alt: "After the repair", class: "after", draggable: "false" });
  const cursor = make("div", { class: "cursor" });
  const edge = make("div", { class: "edge" });
  const tags = [make("span", { class: "tag was" }), make("span", { class: "tag became" })];
  const painting = new Painting(() => offer());
  const sheet = make("div", { class: "sheet" }, before, after, painting.canvas, edge, cursor);
  const frame = make("div", { class: "view", tabindex: "0", role: "application" }, sheet, ...tags);
  const percent = make("span", { class: "percent" });
  const view = new View(frame, sheet, () => {
    percent.textContent = `${Math.round(view.scale * 100)}%`;
    root.classList.toggle("zoomed", view.zoomed);
    compared();
  });
  const zooms = make("div", { class: "tools", role: "group", "aria-label": "Zoom" },
    button("Zoom out", "Zoom out (-, Ctrl and wheel, two fingers)", () => view.zoom(1 / 1.5), "−"), percent,
    button("Zoom in", "Zoom in (+, Ctrl and wheel, two fingers)", () => view.zoom(1.5), "+"),
    button("One to one", "One picture pixel for one screen pixel (1)", () => exact(), "1:1"),
    button("Fit", "Whole picture (0)", () => fit(), "Fit"),
    button("Full screen", "Full screen (F)", () => full(), "⤢"));
  const modes = make("div", { class: "tools modes", role: "group", "aria-label": "View" },
    button("Paint", "Mark what should go", () => paint(true), "Paint"),
    button("Compare", "Before and after", () => paint(false), "Compare"));
  const size = make("input", { type: "range", min: "4", max: "80", value: "24", "aria-label": "Brush size" });
  const undo = button("Undo", "Undo (Ctrl+Z)", () => back(), "Undo");
  const redo = button("Redo", "Redo (Ctrl+Shift+Z, Ctrl+Y)", () => forth(), "Redo");
  const brushes = make("div", { class: "tools brushes", role: "group", "aria-label": "Brush" },
    button("Brush", "Brush (B)", () => pick(false), "Brush"), button("Eraser", "Eraser (E)", () => pick(true), "Eraser"),
    make("label", {}, "Size ", size), undo, redo,
    button("Clear", "Clear all that is marked", () => { painting.clear(); say("All marks are gone; Undo brings them back."); }, "Clear"));
  const shown = button("Show where it was copied from", "A copied place and where it came from have the same colour", () => origin(!root.classList.contains("origins")), "Copied from");
  const origins = make("img", { alt: "Where pixels were copied from", class: "origins", draggable: "false" });
  const copies = make("div", { class: "tools copies", role: "group", "aria-label": "Copies" }, shown);
  const slide = make("input", { type: "range", min: "0", max: "100", value: "50", step: "1", "aria-label": "Before and after" });
  const sides = [make("span", {}), make("span", {})];
  const compare = make("div", { class: "compare" }, sides[0], slide, sides[1]);
  const note = make("div", { class: "note" });
  root.replaceChildren(make("div", { class: "bar" }, modes, copies, brushes, zooms), frame, compare, note);
  const state = { painting: false, erase: false, spot: null, at: [0, 0], shown: null };

  function show(value) {
    const given = value && value.before ? value : null;
    root.classList.toggle("empty", !given);
    if (!given) return;
    const last = state.shown || {};
    const same = last.root?.split(" ")[0] === given.root.split(" ")[0];
    if (same && given.turn < last.turn) return; // answers that come close together may be taken in the other order
    const another = given.before !== last.before;
    state.shown = given;
    root.dataset.result = given.after ? given.stage : "";
    if (another) before.src = given.before;
    after.src = given.after || "";
    after.hidden = !given.after;
    root.classList.toggle("solved", Boolean(given.after));
    root.classList.toggle("paintable", Boolean(given.paint));
    root.classList.toggle("copied", Boolean(given.origins));
    if (given.origins) {
      origins.src = given.origins;
      sheet.insertBefore(origins, edge);
    } else origins.remove();
    if (given.origins !== last.origins) origin(false);
    note.textContent = given.note || "";
    before.alt = `Before: ${given.was}`;
    after.alt = `After: ${given.became}`;
    sides[0].textContent = tags[0].textContent = before.alt;
    sides[1].textContent = tags[1].textContent = after.alt;
    if (given.root !== last.root) view.width = 0; // another picture is seen whole
    if (given.width !== view.width || given.height !== view.height) view.resize(given.width, given.height);
    painting.open(String(given.root), given.width, given.height);
    if (given.spent) painting.spend(given.spent);
    root.dataset.mask = given.mask ? given.mask[1] : "";
    if (given.mask && given.mask[0] !== last.mask?.[0] && (last.before || !painting.done.length)) {
      painting.lay(given.mask[1], given.mask[0]);
    }
    if (given.after && (another || !last.after)) slide.value = given.line;
    if (another || given.paint !== last.paint || given.after !== last.after) paint(Boolean(given.paint) && !given.after);
    offer();
    compared();
  }

  // --- looking ----------------------------------------------------------------------------------

  const fit = () => view.fit(document.fullscreenElement === root ? innerHeight - 130 : undefined);
  const exact = () => view.zoom(1 / view.scale);
  async function full() {
    if (document.fullscreenElement) await document.exitFullscreen();
    else await root.requestFullscreen();
  }
  function compared() {
    const share = Number(slide.value), solved = root.classList.contains("solved") && !state.painting;
    after.style.clipPath = `inset(0 0 0 ${share}%)`;
    edge.style.left = `${share}%`;
    const wide = view.width * view.scale, line = view.x + (wide * share) / 100; // nothing is labelled that is not seen
    const room = [line - Math.max(0, view.x), Math.min(frame.clientWidth, view.x + wide) - line];
    const seen = room.map((part) => part > 72);
    for (const n of [0, 1]) {
      tags[n].style.maxWidth = state.painting ? "" : `${Math.round(room[n]) - 16}px`; // nor beyond the line
      tags[n].hidden = root.classList.contains("solved") ? !(state.painting ? n === 0 : seen[n]) : true;
      sides[n].classList.toggle("away", !(n ? share < 100 : share > 0));
    }
    slide.setAttribute("aria-valuetext", !solved ? "" : share <= 0 ? "all after the repair" : share >= 100 ? "all before the repair" : `left ${share}% before, the rest after the repair`);
  }
  function origin(on) {
    root.classList.toggle("origins", on);
    shown.setAttribute("aria-pressed", on);
  }
  function slideTo(event) {
    slide.value = (view.spot(event)[0] / view.width) * 100;
    compared();
  }

  // --- painting ---------------------------------------------------------------------------------

  function paint(on) {
    state.painting = on;
    root.classList.toggle("painting", on);
    modes.children[0].setAttribute("aria-pressed", on);
    modes.children[1].setAttribute("aria-pressed", !on);
    frame.setAttribute("aria-label", on
      ? "Picture. Paint with the pointer, or move with the arrow keys and paint with the space bar or Enter."
      : "Picture. Plus and minus zoom, arrow keys move the slider.");
    pick(state.erase);
    compared();
  }
  function pick(erase) {
    state.erase = erase;
    brushes.children[0].setAttribute("aria-pressed", !erase);
    brushes.children[1].setAttribute("aria-pressed", erase);
  }
  function offer() {
    undo.setAttribute("aria-disabled", !painting.undoable);
    redo.setAttribute("aria-disabled", !painting.redoable);
  }
  const back = () => say(painting.undo() ? "Undone." : "There is nothing to undo.");
  const forth = () => say(painting.redo() ? "Done again." : "There is nothing to do again.");
  // By keys everything can be undone: marks where one paints, and else, or when none are left, the steps.
  const undoAny = () => (state.painting && painting.undoable) || !walk(-1) ? back() : null;
  const redoAny = () => (state.painting && painting.redoable) || !walk(1) ? forth() : null;
  function hover([x, y]) {
    const wide = Number(size.value);
    state.at = [x, y];
    Object.assign(cursor.style, { width: `${wide}px`, height: `${wide}px`, left: `${x * view.scale - wide / 2}px`, top: `${y * view.scale - wide / 2}px` });
  }
  function resize(by) {
    size.value = Number(size.value) + by;
    hover(state.at);
    if (by) say(`Brush size ${size.value}`);
  }
  const radius = () => Number(size.value) / 2 / view.scale;
  function dot() {
    painting.begin(state.spot || [view.width / 2, view.height / 2], radius(), state.erase);
    painting.end();
    say(state.erase ? "Erased." : "Marked.");
  }
  function step([right, down]) {
    const way = Number(size.value) / 3 / view.scale;
    const [x, y] = state.spot || [view.width / 2, view.height / 2];
    state.spot = [Math.min(Math.max(x + right * way, 0), view.width), Math.min(Math.max(y + down * way, 0), view.height)];
    view.reveal(state.spot);
    hover(state.spot);
    const [across, below] = [state.spot[0] / view.width, state.spot[1] / view.height].map((part) => Math.round(100 * part));
    say(`${across}% across, ${below}% down`);
  }

  // --- pointers and keys ------------------------------------------------------------------------

  const hands = gestures(frame, view, {
    begin(event) {
      if (state.painting) {
        if (event.pointerType === "touch" && !view.covers(event)) return null; // a finger beside the picture scrolls
        state.spot = null;
        painting.begin(view.spot(event), radius(), state.erase);
        return "paint";
      }
      const near = Math.abs(event.clientX - edge.getBoundingClientRect().left) < 24;
      if (!root.classList.contains("solved")) return "pan";
      if (!near && view.zoomed) return "pan";
      slideTo(event);
      return "slide";
    },
    move(event, what) {
      if (what === "paint") painting.extend(view.spot(event));
      else slideTo(event);
    },
    end(what) {
      if (what === "paint") painting.end();
    },
    abandon(what) {
      if (what === "paint") painting.abandon();
    },
    hover(event) {
      if (state.painting) hover(view.spot(event));
    },
  });

  frame.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const arrow = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    const action = {
      "+": () => view.zoom(1.5), "=": () => view.zoom(1.5), "-": () => view.zoom(1 / 1.5), 0: fit, 1: exact, f: full,
      b: () => pick(false), e: () => pick(true), u: back,
      "[": () => resize(-4), "]": () => resize(4),
    }[event.key.toLowerCase()];
    if (arrow && event.shiftKey) view.pan(-60 * arrow[0], -60 * arrow[1]);
    else if (arrow && state.painting) step(arrow);
    else if (event.key === "Enter" && state.painting) dot();
    else if (arrow && arrow[0]) {
      slide.value = Number(slide.value) + arrow[0] * 2;
      compared();
    } else if (action) action();
    else return;
    event.preventDefault();
  });
  frame.addEventListener("keyup", (event) => {
    if (event.key === " " && state.painting && !hands.moved() && (state.spot || !frame.matches(":hover"))) dot();
  });
  slide.addEventListener("input", compared);
  size.addEventListener("input", () => resize(0));
  document.addEventListener("fullscreenchange", fit);
  new ResizeObserver(() => { if (!view.zoomed || !sheet.style.width) fit(); else view.place(); }).observe(frame);

  current = { root, painting, state, undoAny, redoAny };
  watch("value", () => show(props.value));
  show(props.value);
}

// Wherever the focus is, but in a field that has an undo of its own.
document.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey || !current?.state.shown || current.root.offsetParent === null) return;
  if (event.target.matches?.("input:not([type=range], [type=radio], [type=file], [type=checkbox]), textarea, select")) return;
  const key = event.key.toLowerCase();
  const action = key === "y" || (key === "z" && event.shiftKey) ? current.redoAny : key === "z" ? current.undoAny : null;
  if (!action) return;
  event.preventDefault();
  action();
});

// The key of what is painted. Never fails: Gradio would leave the page waiting. The server says why there is no mask.
export async function mask() {
  try {
    return current?.root.classList.contains("paintable") ? await current.painting.file() : "";
  } catch (error) {
    return `failed: ${error.message}`;
  }
}

// The picture on the stage, and of this and all others the state of what is marked on them.
export function onStage() {
  return { root: current?.painting.root || "", marks: current?.painting.turns || {} };
}
