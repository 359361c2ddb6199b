// Parts that Gradio has not: boxes that files are dropped into, lists, and the stage, on which a picture is compared and painted.

import { save } from "./dom.js";
import { drop } from "./drop.js";
import { choices, strip } from "./lists.js";
import "./manners.js";
import { mask, stage } from "./stage.js";

window.cosparse = { choices, drop, mask, save, stage, strip };
window.dispatchEvent(new Event("cosparse")); // for those parts of the page that were there first
