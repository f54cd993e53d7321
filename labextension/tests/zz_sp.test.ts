import { readFileSync } from "node:fs"; import { test } from "vitest";
import { decodeScene } from "/work/main/labextension/src/scene"; import { signposts } from "/work/main/labextension/src/render/signposts";
import { Picker } from "/work/main/labextension/src/render/pick"; import { wiring } from "/work/main/labextension/src/render/wiring";
test("t", () => { const m = JSON.parse(readFileSync("/tmp/w/s6/C/data/big_open.json", "utf8")); const b = readFileSync("/tmp/w/s6/C/data/big_open.bin"); const scene = decodeScene(m.fields, new DataView(b.buffer, b.byteOffset, b.byteLength));
 for (const z of [0.01, 0.0625, 0.125, 0.25, 0.35, 0.5, 0.25, 0.35]) { const t = performance.now(); const n = signposts(scene, z).size; console.log(z, n, Math.round(performance.now() - t)); }
 let t = performance.now(); new Picker(scene); console.log("picker", Math.round(performance.now() - t)); t = performance.now(); wiring(scene); console.log("wiring", Math.round(performance.now() - t)); });
