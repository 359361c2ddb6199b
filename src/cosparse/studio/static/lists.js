// Lists to choose from: the examples, and the steps so far.

import { make } from "./dom.js";

export function choices(element, props, trigger) {
  element.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-name]");
    if (!button) return;
    props.value = button.dataset.name;
    trigger("select");
  });
}

let go = () => false; // to the step so many further in the list, if there is one
let items = [];

// Every step of the page: its number, the picture it is of (as its strokes are kept), whether it is a result.
export const steps = () => items;
export const walk = (by) => go(by);

export function strip(element, props, trigger, watch) {
  const root = element.querySelector(".steps");
  const choose = (number) => {
    props.value = { ...props.value, chosen: number };
    trigger("select");
    return true;
  };
  go = (by) => {
    const next = items[items.findIndex((item) => item.current) + by];
    return items.length > 1 && next ? choose(next.number) : false;
  };
  root.setAttribute("aria-label", "Steps");
  function show() {
    items = props.value?.items || [];
    const held = root.contains(document.activeElement);
    const each = items.map((item, at) =>
      make("li", {},
        make("button", { type: "button", "data-number": item.number, "aria-current": item.current ? "step" : null },
          make("img", { src: item.image, alt: "", draggable: "false" }), make("span", {}, `${at + 1}. ${item.words}`))));
    root.replaceChildren(...(items.length > 1 ? [make("b", {}, "Steps"), make("ol", {}, ...each)] : []));
    const current = root.querySelector("[aria-current]");
    if (current) current.parentElement.parentElement.scrollLeft = current.offsetLeft - 60;
    if (held) current?.focus({ preventScroll: true });
  }
  root.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-number]");
    if (button) choose(Number(button.dataset.number));
  });
  watch("value", show);
  show();
}
