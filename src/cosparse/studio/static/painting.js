// What is painted on a picture: a list of edits, of which any number of the last can be undone and done again.
// Lengths are parts of the picture's width, so that an edit looks the same at every zoom and on a larger version.

import { kept, make, send } from "./dom.js";

const COLOUR = "#e8336d";
const MOST = 40; // pictures whose edits are remembered
const round = (number) => Math.round(number * 1e5) / 1e5;

// Of every picture of this tab: its edits, how many of them are done, by which steps they were spent, and how often all
// that has changed.
const all = new Map(Object.entries(kept.get("strokes") || {}));

// What still shows: all since it was last cleared.
function visible({ edits, count }) {
  const done = edits.slice(0, count);
  return done.slice(done.findLastIndex((edit) => edit.clear) + 1);
}
const marks = (state) => visible(state).some((edit) => edit.image || (edit.points && !edit.erase));

export class Painting {
  constructor(changed) {
    this.canvas = make("canvas", { "aria-hidden": "true" });
    this.changed = changed;
    this.root = null;
    this.edits = [];
    this.count = 0; // how many of the edits are done; those after it were undone
    this.spent = [];
    this.turn = 0; // how often they changed
    this.images = new Map();
  }

  // The edits of a picture that was opened are there again whenever it or what was made of it is on the stage.
  open(root, width, height) {
    if (this.canvas.width !== width || this.canvas.height !== height) {
      [this.canvas.width, this.canvas.height] = [width, height];
    }
    if (root !== this.root) {
      this.root = root;
      Object.assign(this, all.get(root) || { edits: [], count: 0, spent: [], turn: 0 });
    }
    this.redraw();
  }
  #keep() {
    const { edits, count, spent } = this;
    all.delete(this.root);
    all.set(this.root, { edits, count, spent, turn: ++this.turn });
    for (const root of [...all.keys()].slice(0, -MOST)) all.delete(root);
    // The browser's store is small: if not all have room in it, the last pictures have, or this one alone.
    for (const few of [MOST, 4, 1]) if (kept.set("strokes", Object.fromEntries([...all].slice(-few)))) break;
    this.changed();
  }
  #add(edit) {
    this.edits.length = this.count;
    this.edits.push(edit);
    this.count++;
  }

  get done() {
    return this.edits.slice(0, this.count);
  }
  get #visible() {
    return visible(this);
  }
  get empty() {
    return !marks(this);
  }
  // Of every picture on which something is marked: which state of its marks that is.
  get turns() {
    return Object.fromEntries([...all].filter(([, state]) => marks(state)).map(([root, { turn }]) => [root, turn]));
  }

  begin([x, y], radius, erase) {
    const wide = this.canvas.width;
    this.#add({ points: [[round(x / wide), round(y / wide)]], radius: round(radius / wide), erase });
    this.#draw(this.edits.at(-1));
  }
  extend([x, y]) {
    const stroke = this.edits.at(-1), wide = this.canvas.width;
    stroke.points.push([round(x / wide), round(y / wide)]);
    this.#draw({ ...stroke, points: stroke.points.slice(-2) });
  }
  end() {
    this.redraw(); // drawn piece by piece, its edges are not quite the same
    this.#keep();
  }
  abandon() {
    this.edits.length = --this.count;
    this.redraw();
    this.#keep();
  }
  lay(image, number) {
    if (this.edits.some((edit) => edit.number === number)) return;
    this.#add({ image, number });
    this.redraw();
    this.#keep();
  }
  clear() {
    if (this.empty) return;
    this.#add({ clear: true });
    this.redraw();
    this.#keep();
  }
  // What was marked is repaired, once for each step that goes on from a repair; it may be undone like all else.
  spend(step) {
    if (this.spent.includes(step)) return;
    this.spent.push(step);
    this.clear();
    this.#keep();
  }
  undo() {
    return this.#step(-1);
  }
  redo() {
    return this.#step(1);
  }
  #step(by) {
    if (this.count + by < 0 || this.count + by > this.edits.length) return false;
    this.count += by;
    this.redraw();
    this.#keep();
    return true;
  }
  get undoable() {
    return this.count > 0;
  }
  get redoable() {
    return this.count < this.edits.length;
  }

  #draw({ points, radius, erase }) {
    const context = this.canvas.getContext("2d"), wide = this.canvas.width;
    context.globalCompositeOperation = erase ? "destination-out" : "source-over";
    Object.assign(context, { strokeStyle: COLOUR, lineWidth: 2 * radius * wide, lineCap: "round", lineJoin: "round" });
    context.beginPath();
    points.forEach(([x, y], n) => (n ? context.lineTo(x * wide, y * wide) : context.moveTo(x * wide, y * wide)));
    if (points.length === 1) context.lineTo(points[0][0] * wide + 0.01, points[0][1] * wide);
    context.stroke();
  }
  #picture(address) {
    if (!this.images.has(address)) {
      const image = new Image();
      image.onload = () => this.redraw();
      image.src = address;
      this.images.set(address, image);
    }
    return this.images.get(address);
  }
  redraw() {
    const { canvas } = this, context = canvas.getContext("2d");
    context.globalCompositeOperation = "source-over";
    context.clearRect(0, 0, canvas.width, canvas.height);
    for (const edit of this.#visible) {
      if (edit.points) this.#draw(edit);
      else {
        const image = this.#picture(edit.image);
        context.globalCompositeOperation = "source-over";
        context.imageSmoothingEnabled = false;
        if (image.complete && image.naturalWidth) context.drawImage(image, 0, 0, canvas.width, canvas.height);
      }
    }
  }

  // As a file, white where something is painted; its key. Empty text if nothing is.
  async file() {
    if (this.empty) return "";
    await Promise.all(this.#visible.filter((edit) => edit.image).map((edit) => this.#picture(edit.image).decode().catch(() => 0)));
    this.redraw();
    const copy = make("canvas", { width: this.canvas.width, height: this.canvas.height });
    const context = copy.getContext("2d");
    context.drawImage(this.canvas, 0, 0);
    for (const [operation, colour] of [["source-in", "#fff"], ["destination-over", "#000"]]) {
      context.globalCompositeOperation = operation;
      context.fillStyle = colour;
      context.fillRect(0, 0, copy.width, copy.height);
    }
    return send(await new Promise((done) => copy.toBlob(done, "image/png")), "mask.png");
  }
}
