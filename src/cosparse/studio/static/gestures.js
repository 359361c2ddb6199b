// Pointers on the stage: one works, a second finger, the middle button or the space bar moves the picture instead.

const LATE = 300; // milliseconds after which what one finger began is not undone by a second one

export function gestures(frame, view, does) {
  const fingers = new Map(); // of the pointers that touch: where they are
  let doing = null; // "paint", "slide", "pan", "pinch" or "wait", until all fingers are gone
  let last = [0, 0];
  let since = 0;
  let space = false, moved = false;

  const between = () => {
    const [a, b] = [...fingers.values()];
    return { at: [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2], apart: Math.max(8, Math.hypot(a[0] - b[0], a[1] - b[1])) };
  };
  let held = null;

  frame.addEventListener("pointerdown", (event) => {
    const touch = event.pointerType === "touch";
    if (touch) fingers.set(event.pointerId, view.inFrame(event));
    if (fingers.size === 2) {
      if (event.timeStamp - since < LATE) does.abandon(doing);
      else does.end(doing);
      doing = "pinch";
      held = between();
      return event.preventDefault();
    }
    if (fingers.size > 2 || (event.button !== 0 && event.button !== 1)) return;
    frame.focus({ preventScroll: true });
    last = [event.clientX, event.clientY];
    since = event.timeStamp;
    doing = event.button === 1 || space ? "pan" : does.begin(event);
    if (space) moved = true;
    if (doing) frame.setPointerCapture(event.pointerId);
    frame.classList.toggle("panning", doing === "pan");
    event.preventDefault();
  });
  frame.addEventListener("pointermove", (event) => {
    if (fingers.has(event.pointerId)) fingers.set(event.pointerId, view.inFrame(event));
    if (!fingers.size) does.hover(event);
    if (doing === "pinch" && fingers.size === 2) {
      const now = between();
      view.pan(now.at[0] - held.at[0], now.at[1] - held.at[1]);
      view.zoom(now.apart / held.apart, now.at);
      held = now;
    } else if (doing === "pan") {
      view.pan(event.clientX - last[0], event.clientY - last[1]);
      last = [event.clientX, event.clientY];
    } else if (doing === "paint" || doing === "slide") {
      does.hover(event);
      const all = event.getCoalescedEvents?.() || [];
      for (const one of all.length ? all : [event]) does.move(one, doing);
    }
  });
  function over(event) {
    fingers.delete(event.pointerId);
    if (doing === "pinch" || doing === "wait") doing = fingers.size ? "wait" : null;
    else {
      if (event.type === "pointercancel") does.abandon(doing); // the browser took it for scrolling
      else does.end(doing);
      doing = null;
    }
    frame.classList.remove("panning");
  }
  frame.addEventListener("pointerup", over);
  frame.addEventListener("pointercancel", over);
  // Two fingers are ours wherever in the frame they are; one may scroll the page where the style says so.
  for (const name of ["touchstart", "touchmove"]) {
    frame.addEventListener(name, (event) => { if (event.touches.length > 1) event.preventDefault(); }, { passive: false });
  }
  frame.addEventListener("wheel", (event) => {
    if (event.ctrlKey || event.metaKey) view.zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2, view.inFrame(event));
    else {
      const unit = event.deltaMode === 1 ? 20 : 1;
      const [right, down] = event.shiftKey && !event.deltaX ? [event.deltaY, 0] : [event.deltaX, event.deltaY];
      if (!view.zoomed || !view.pan(-right * unit, -down * unit)) return; // at its end, the page itself scrolls
    }
    event.preventDefault();
  }, { passive: false });
  frame.addEventListener("mousedown", (event) => { if (event.button === 1) event.preventDefault(); }); // no autoscroll
  window.addEventListener("keydown", (event) => {
    const ours = document.activeElement === frame || (document.activeElement === document.body && frame.matches(":hover"));
    if (event.key !== " " || !ours) return;
    event.preventDefault(); // the page would scroll
    if (!space) [space, moved] = [true, false];
    frame.classList.add("movable");
  });
  window.addEventListener("keyup", (event) => {
    if (event.key !== " ") return;
    space = false;
    frame.classList.remove("movable");
  });
  return { moved: () => moved };
}
