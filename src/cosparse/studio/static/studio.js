// Two parts that Gradio has not: a box to drop files into, and the stage, on which a picture is compared and painted.
// Both send and fetch files by the page's own addresses, which know whose they are.
window.cosparse = (() => {
  const make = (tag, attributes = {}, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children);
    return node;
  };

  async function send(blob, name) {
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

  // --- a box to drop files into ---------------------------------------------------------------

  function drop(element, props, trigger) {
    const box = element.querySelector(".drop");
    const input = box.querySelector("input");
    const state = element.querySelector(".drop-state");
    const say = (text, bad) => {
      state.textContent = text;
      state.classList.toggle("problem", Boolean(bad));
    };
    async function take(files) {
      if (!files.length) return;
      const limit = Number(box.dataset.limit);
      const chosen = input.multiple ? [...files] : [files[0]];
      const large = chosen.find((file) => file.size > limit);
      if (large) return say(`${large.name}: is too large; at most ${Math.floor(limit / 1e6)} MB can be uploaded`, true);
      box.classList.add("busy");
      try {
        const keys = [];
        for (const file of chosen) {
          say(`Sending ${file.name}…`);
          keys.push(await send(file, file.name));
        }
        say("");
        props.value = keys.join(" ");
        trigger("upload");
      } catch (error) {
        say(error.message, true);
      } finally {
        box.classList.remove("busy");
        input.value = "";
      }
    }
    input.addEventListener("change", () => take(input.files));
    take(input.files); // what was chosen before this script was there
    box.addEventListener("dragover", (event) => {
      event.preventDefault();
      box.classList.add("over");
    });
    box.addEventListener("dragleave", () => box.classList.remove("over"));
    box.addEventListener("drop", (event) => {
      event.preventDefault();
      box.classList.remove("over");
      take(event.dataTransfer.files);
    });
  }

  function choices(element, props, trigger) {
    element.addEventListener("click", (event) => {
      const button = event.target.closest("button[data-name]");
      if (!button) return;
      props.value = button.dataset.name;
      trigger("select");
    });
  }

  // --- the stage -------------------------------------------------------------------------------

  let current = null;

  function stage(element, props, watch) {
    const root = element.querySelector(".stage");
    const button = (label, title, action, text) =>
      make("button", { type: "button", "aria-label": label, title, onclick: action }, text);
    const before = make("img", { alt: "Before the repair", class: "before", draggable: "false" });
    const after = make("img", { alt: "After the repair", class: "after", draggable: "false" });
    const canvas = make("canvas", { "aria-hidden": "true" });
    const cursor = make("div", { class: "cursor" });
    const edge = make("div", { class: "edge" });
    const sheet = make("div", { class: "sheet" }, before, after, canvas, edge, cursor);
    const view = make("div", { class: "view", tabindex: "0", role: "application" }, sheet);
    const percent = make("span", { class: "percent" });
    const zooms = make("div", { class: "tools", role: "group", "aria-label": "Zoom" },
      button("Zoom out", "Zoom out (-)", () => zoom(1 / 1.5), "−"), percent,
      button("Zoom in", "Zoom in (+)", () => zoom(1.5), "+"),
      button("One to one", "One picture pixel for one screen pixel (1)", () => exact(), "1:1"),
      button("Fit", "Whole picture (0)", () => fit(), "Fit"),
      button("Full screen", "Full screen (F)", () => full(), "⤢"));
    const modes = make("div", { class: "tools modes", role: "group", "aria-label": "View" },
      button("Paint", "Mark what should go", () => paint(true), "Paint"),
      button("Compare", "Before and after", () => paint(false), "Compare"));
    const size = make("input", { type: "range", min: "4", max: "80", value: "24", "aria-label": "Brush size" });
    const brushes = make("div", { class: "tools brushes", role: "group", "aria-label": "Brush" },
      button("Brush", "Brush (B)", () => pick(false), "Brush"), button("Eraser", "Eraser (E)", () => pick(true), "Eraser"),
      make("label", {}, "Size ", size),
      button("Undo", "Undo the last stroke (U)", () => undo(), "Undo"), button("Clear", "Clear all strokes", () => clear(), "Clear"));
    const slide = make("input", { type: "range", min: "0", max: "100", value: "50", step: "1", "aria-label": "Before and after" });
    const compare = make("div", { class: "compare" }, make("span", {}, "Before"), slide, make("span", {}, "After"));
    const note = make("div", { class: "note" });
    root.replaceChildren(make("div", { class: "bar" }, modes, brushes, zooms), view, compare, note);

    const state = { width: 0, height: 0, scale: 1, base: 1, x: 0, y: 0, painting: false, erase: false, strokes: [], mask: null, spot: null };

    function show(value) {
      const given = value && value.before ? value : null;
      root.classList.toggle("empty", !given);
      if (!given) return;
      const changed = given.before !== root.dataset.before || given.width !== state.width;
      root.dataset.before = given.before;
      root.dataset.result = given.after ? given.stage : "";
      if (changed) before.src = given.before;
      after.src = given.after || "";
      after.hidden = !given.after;
      root.classList.toggle("solved", Boolean(given.after));
      root.classList.toggle("paintable", Boolean(given.paint));
      note.textContent = given.note || "";
      if (changed) {
        [state.width, state.height] = [given.width, given.height];
        state.strokes = [];
        state.mask = null;
        canvas.width = given.width;
        canvas.height = given.height;
        fit();
      }
      if ((given.mask || "") !== (root.dataset.mask || "") || changed) {
        root.dataset.mask = given.mask || "";
        state.mask = null;
        if (given.mask) {
          const image = new Image();
          image.onload = () => { state.mask = image; redraw(); };
          image.src = given.mask;
        }
        redraw();
      }
      paint(Boolean(given.paint) && !given.after);
    }

    // Zoom and place: the sheet has the picture's size times the scale, and lies in the view at x, y.
    function place() {
      const [wide, tall] = [state.width * state.scale, state.height * state.scale];
      const room = (length, shown, at) => (length <= shown ? (shown - length) / 2 : Math.min(0, Math.max(shown - length, at)));
      state.x = room(wide, view.clientWidth, state.x);
      state.y = room(tall, view.clientHeight, state.y);
      Object.assign(sheet.style, { width: `${wide}px`, height: `${tall}px`, transform: `translate(${state.x}px, ${state.y}px)` });
      sheet.classList.toggle("pixelated", state.scale >= 2);
      percent.textContent = `${Math.round(state.scale * 100)}%`;
      compared();
    }
    function fit() {
      const high = document.fullscreenElement === root ? innerHeight - 120 : Math.min(innerHeight * 0.66, 640);
      if (!view.clientWidth || !state.width) return;
      state.base = state.scale = Math.min(view.clientWidth / state.width, high / state.height);
      view.style.height = `${Math.max(120, Math.round(state.height * state.scale))}px`;
      place();
    }
    function zoom(factor, at) {
      const [x, y] = at || [view.clientWidth / 2, view.clientHeight / 2];
      const scale = Math.min(Math.max(state.scale * factor, Math.min(state.base, 1)), 32);
      state.x = x - ((x - state.x) * scale) / state.scale;
      state.y = y - ((y - state.y) * scale) / state.scale;
      state.scale = scale;
      place();
    }
    const exact = () => zoom(1 / state.scale);
    async function full() {
      if (document.fullscreenElement) await document.exitFullscreen();
      else await root.requestFullscreen();
    }
    function compared() {
      const share = Number(slide.value);
      after.style.clipPath = `inset(0 0 0 ${share}%)`;
      edge.style.left = `${share}%`;
      slide.setAttribute("aria-valuetext", `${share}% before`);
    }

    // Painting: strokes are kept in picture pixels, so that they can be undone and look the same at every zoom.
    function paint(on) {
      state.painting = on;
      root.classList.toggle("painting", on);
      modes.children[0].setAttribute("aria-pressed", on);
      modes.children[1].setAttribute("aria-pressed", !on);
      view.setAttribute("aria-label", on
        ? "Picture. Paint with the pointer, or move with the arrow keys and paint with the space bar."
        : "Picture. Plus and minus zoom, arrow keys move the slider.");
      pick(state.erase);
    }
    function pick(erase) {
      state.erase = erase;
      brushes.children[0].setAttribute("aria-pressed", !erase);
      brushes.children[1].setAttribute("aria-pressed", erase);
    }
    function draw(context, stroke, colour) {
      context.globalCompositeOperation = stroke.erase ? "destination-out" : "source-over";
      Object.assign(context, { strokeStyle: colour, fillStyle: colour, lineWidth: 2 * stroke.radius, lineCap: "round", lineJoin: "round" });
      context.beginPath();
      stroke.points.forEach(([x, y], n) => (n ? context.lineTo(x, y) : context.moveTo(x, y)));
      if (stroke.points.length === 1) context.lineTo(stroke.points[0][0] + 0.01, stroke.points[0][1]);
      context.stroke();
    }
    function redraw() {
      const context = canvas.getContext("2d");
      context.globalCompositeOperation = "source-over";
      context.clearRect(0, 0, canvas.width, canvas.height);
      if (state.mask) context.drawImage(state.mask, 0, 0, canvas.width, canvas.height);
      for (const stroke of state.strokes) draw(context, stroke, "#e8336d");
    }
    function undo() {
      state.strokes.pop();
      redraw();
    }
    function clear() {
      state.strokes = [];
      state.mask = null;
      redraw();
    }
    function spot(event) {
      const box = sheet.getBoundingClientRect();
      return [(event.clientX - box.left) / state.scale, (event.clientY - box.top) / state.scale];
    }
    function hover(point) {
      const wide = Number(size.value);
      Object.assign(cursor.style, { width: `${wide}px`, height: `${wide}px`, left: `${point[0] * state.scale - wide / 2}px`, top: `${point[1] * state.scale - wide / 2}px` });
    }
    const stroke = (point) => ({ points: [point], radius: Number(size.value) / 2 / state.scale, erase: state.erase });

    let drag = null;
    view.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      view.setPointerCapture(event.pointerId);
      view.focus({ preventScroll: true });
      if (state.painting) {
        state.strokes.push(stroke(spot(event)));
        drag = "paint";
        redraw();
      } else {
        const near = Math.abs(event.clientX - edge.getBoundingClientRect().left) < 24;
        drag = root.classList.contains("solved") && (near || state.scale <= state.base * 1.01) ? "slide" : [event.clientX - state.x, event.clientY - state.y];
        if (drag === "slide") slideTo(event);
      }
      event.preventDefault();
    });
    view.addEventListener("pointermove", (event) => {
      if (state.painting) hover(spot(event));
      if (drag === "paint") {
        const last = state.strokes[state.strokes.length - 1];
        last.points.push(spot(event));
        if (state.erase) redraw();
        else draw(canvas.getContext("2d"), { ...last, points: last.points.slice(-2) }, "#e8336d");
      } else if (drag === "slide") slideTo(event);
      else if (drag) {
        [state.x, state.y] = [event.clientX - drag[0], event.clientY - drag[1]];
        place();
      }
    });
    for (const name of ["pointerup", "pointercancel"]) view.addEventListener(name, () => { drag = null; });
    function slideTo(event) {
      const box = sheet.getBoundingClientRect();
      slide.value = ((event.clientX - box.left) / box.width) * 100;
      compared();
    }
    view.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return; // the page itself must still scroll
      event.preventDefault();
      const box = view.getBoundingClientRect();
      zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2, [event.clientX - box.left, event.clientY - box.top]);
    }, { passive: false });
    view.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const arrow = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      const action = { "+": () => zoom(1.5), "=": () => zoom(1.5), "-": () => zoom(1 / 1.5), 0: fit, 1: exact, f: full, b: () => pick(false), e: () => pick(true), u: undo }[event.key.toLowerCase()];
      if (arrow && state.painting) {
        state.spot = state.spot || [state.width / 2, state.height / 2];
        const step = Number(size.value) / 3 / state.scale;
        state.spot = [Math.min(Math.max(state.spot[0] + arrow[0] * step, 0), state.width), Math.min(Math.max(state.spot[1] + arrow[1] * step, 0), state.height)];
        hover(state.spot);
      } else if (event.key === " " && state.painting) {
        state.strokes.push(stroke(state.spot || [state.width / 2, state.height / 2]));
        redraw();
      } else if (arrow && arrow[0]) {
        slide.value = Number(slide.value) + arrow[0] * 2;
        compared();
      } else if (action) action();
      else return;
      event.preventDefault();
    });
    slide.addEventListener("input", compared);
    document.addEventListener("fullscreenchange", fit);
    new ResizeObserver(() => { if (state.scale === state.base || !sheet.style.width) fit(); else place(); }).observe(view);

    // The painted mask as a file: white where something is painted. Empty text if nothing is.
    async function mask() {
      if (!root.classList.contains("paintable") || (!state.strokes.length && !state.mask)) return "";
      redraw();
      const copy = make("canvas", { width: canvas.width, height: canvas.height });
      const context = copy.getContext("2d");
      context.drawImage(canvas, 0, 0);
      context.globalCompositeOperation = "source-in";
      context.fillStyle = "#fff";
      context.fillRect(0, 0, copy.width, copy.height);
      context.globalCompositeOperation = "destination-over";
      context.fillStyle = "#000";
      context.fillRect(0, 0, copy.width, copy.height);
      return send(await new Promise((done) => copy.toBlob(done, "image/png")), "mask.png");
    }
    current = { mask };
    watch("value", () => show(props.value));
    show(props.value);
  }

  // Never fails: Gradio would leave the page waiting. The server says why there is no mask.
  async function mask() {
    try {
      return current ? await current.mask() : "";
    } catch (error) {
      return `failed: ${error.message}`;
    }
  }

  return { drop, choices, stage, mask };
})();
window.dispatchEvent(new Event("cosparse")); // for those parts of the page that were there first
