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
    if (!files.length) return say("There is no picture in it.", true);
    const limit = Number(box.dataset.limit);
    const wanted = input.multiple ? [...files] : [files[0]];
    const large = wanted.find((file) => file.size > limit);
    if (large) return say(`${large.name}: is too large; at most ${Math.floor(limit / 1e6)} MB can be uploaded`, true);
    box.classList.add("busy");
    try {
      const keys = [];
      for (const file of wanted) {
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
  const chosen = () => { if (input.files.length) take(input.files); };
  input.addEventListener("change", chosen);
  chosen(); // perhaps before this script was there
  box.addEventListener("dragover", () => box.classList.add("over"));
  box.addEventListener("dragleave", () => box.classList.remove("over"));
  box.addEventListener("drop", (event) => {
    event.preventDefault();
    event.stopPropagation();
    box.classList.remove("over");
    veil(false);
    whole(event.dataTransfer).then(take);
  });
  boxes.add({ box, input, take });
}

// What was dropped, and of folders the pictures in them. A folder itself cannot be sent. All must be asked for at once: the
// browser forgets what was dropped when the event is over.
function whole(dropped) {
  const entries = [...dropped.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  const files = [...dropped.files];
  if (!entries.some((entry) => entry.isDirectory)) return Promise.resolve(files);
  return Promise.all(entries.map(within)).then((found) => found.flat());
}
async function within(entry) {
  if (entry.isFile) return [await new Promise((done, fail) => entry.file(done, fail))];
  const reader = entry.createReader(), inside = [];
  for (let some = [0]; some.length; inside.push(...some)) some = await new Promise((done, fail) => reader.readEntries(done, fail));
  const files = (await Promise.all(inside.map(within))).flat().filter((file) => /\.(png|jpe?g|tiff?|bmp)$/i.test(file.name));
  return files.sort((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }));
}

function find(files) {
  for (const one of boxes) if (!one.box.isConnected) boxes.delete(one);
  const there = [...boxes];
  const operator = files.length && [...files].every((file) => file.name.endsWith(".safetensors"));
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
  if (!holdsFiles(event)) {
    if (event.target.matches?.("input, textarea")) return; // words may be dropped where one writes; a link nowhere
    event.dataTransfer.dropEffect = "none";
    return event.preventDefault();
  }
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
  whole(event.dataTransfer).then(takeAnywhere);
});
window.addEventListener("paste", (event) => {
  const images = [...(event.clipboardData?.files || [])].filter((file) => file.type.startsWith("image/"));
  if (!images.length) return;
  event.preventDefault();
  const named = (file) => (file.name && file.name !== "image.png" ? file : new File([file], "pasted.png", { type: file.type }));
  takeAnywhere(images.map(named));
});
