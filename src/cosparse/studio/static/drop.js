// Boxes to drop files into; what is dropped or pasted anywhere else on the page goes to the main one of its tab.

import { make, send } from "./dom.js";

const boxes = new Set();

export function drop(element, props, trigger) {
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
  box.addEventListener("dragover", () => box.classList.add("over"));
  box.addEventListener("dragleave", () => box.classList.remove("over"));
  box.addEventListener("drop", (event) => {
    event.preventDefault();
    event.stopPropagation();
    box.classList.remove("over");
    veil(false);
    take(event.dataTransfer.files);
  });
  boxes.add({ box, input, take });
}

function find(files) {
  for (const one of boxes) if (!one.box.isConnected) boxes.delete(one);
  const there = [...boxes];
  const operator = [...files].every((file) => file.name.endsWith(".safetensors"));
  if (operator) return there.find((one) => one.input.accept === ".safetensors");
  const main = there.filter((one) => "main" in one.box.dataset);
  return main.find((one) => one.box.offsetParent !== null) || main[0];
}

function takeAnywhere(files) {
  const found = find(files);
  if (!found) return;
  if (found.box.offsetParent === null) document.querySelector("[role=tab]")?.click(); // Repair, where it will be seen
  found.take(files);
}

const holdsFiles = (event) => [...(event.dataTransfer?.types || [])].includes("Files");
const curtain = make("div", { class: "veil", hidden: true }, make("b", {}, "Drop it anywhere"));
function veil(on) {
  if (!curtain.isConnected) document.body.append(curtain);
  curtain.hidden = !on;
}

// Without these, the browser would leave the page and show the file.
window.addEventListener("dragover", (event) => {
  if (!holdsFiles(event)) return;
  event.preventDefault();
  veil(!event.target.closest?.(".drop"));
});
window.addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) veil(false);
});
window.addEventListener("drop", (event) => {
  if (!holdsFiles(event)) return;
  event.preventDefault();
  veil(false);
  takeAnywhere(event.dataTransfer.files);
});
window.addEventListener("paste", (event) => {
  const images = [...(event.clipboardData?.files || [])].filter((file) => file.type.startsWith("image/"));
  if (!images.length) return;
  event.preventDefault();
  const named = (file) => (file.name && file.name !== "image.png" ? file : new File([file], "pasted.png", { type: file.type }));
  takeAnywhere(images.map(named));
});
