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

export function strip(element, props, trigger, watch) {
  const root = element.querySelector(".steps");
  root.setAttribute("aria-label", "Steps");
  function show() {
    const items = props.value?.items || [];
    const held = root.contains(document.activeElement);
    const each = items.map((item, at) =>
      make("li", {},
        make("button", { type: "button", "data-number": item.number, "aria-current": item.current ? "step" : null },
          make("img", { src: item.image, alt: "" }), make("span", {}, `${at + 1}. ${item.words}`))));
    root.replaceChildren(...(items.length > 1 ? [make("b", {}, "Steps"), make("ol", {}, ...each)] : []));
    const current = root.querySelector("[aria-current]");
    if (current) current.parentElement.parentElement.scrollLeft = current.offsetLeft - 60;
    if (held) current?.focus({ preventScroll: true });
  }
  root.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-number]");
    if (!button) return;
    props.value = { ...props.value, chosen: Number(button.dataset.number) };
    trigger("select");
  });
  watch("value", show);
  show();
}
