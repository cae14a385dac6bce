// Makes the page that the program fills: modules, ECharts and style in one HTML file that loads nothing.
// Usage: node build.mjs PACKAGES OUT: the folder with node_modules (npm ci), and the file to write.
import { createHash } from "node:crypto";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

const [packages, out] = process.argv.slice(2);
const here = path.dirname(fileURLToPath(import.meta.url));
const modules = path.resolve(packages, "node_modules");
const { buildSync } = createRequire(path.join(modules, "x.js"))("esbuild");

function bundle(entry) {
  const { outputFiles } = buildSync({
    entryPoints: [path.join(here, "src", entry)],
    nodePaths: [modules],
    bundle: true,
    minify: true,
    charset: "utf8",
    format: "iife",
    target: "es2022",
    legalComments: "none", // the notices below stand for all of them
    write: false,
  });
  // The parser of HTML would end the element there.
  return outputFiles[0].text.trim().replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
}

const read = (...parts) => fs.readFileSync(path.join(...parts), "utf8").trim();
const hash = (text) => "sha256-" + createHash("sha256").update(text).digest("base64");
const script = bundle("main.js");
const style = bundle("style.css");
// The licences of what is bundled: Apache 2.0 asks for ECharts' NOTICE, the others for their text.
const notices = [
  read(modules, "echarts/NOTICE") + "\n\nLicensed under the Apache License, Version 2.0: https://www.apache.org/licenses/LICENSE-2.0",
  "Parts of Apache ECharts (d3)\n" + read(modules, "echarts/licenses/LICENSE-d3"),
  "zrender\n" + read(modules, "zrender/LICENSE"),
  "tslib\n" + read(modules, "tslib/LICENSE.txt"),
].join("\n\n").replaceAll("--", "- -");

let page = read(here, "page.html");
for (const [name, text] of Object.entries({ notices, script, style, scriptHash: hash(script), styleHash: hash(style) }))
  page = page.split(`@${name}@`).join(text);
for (const slot of ["title", "summary", "detail"])
  if (page.split(`@rehearse-${slot}@`).length !== 2) throw new Error(`the page has not one slot "${slot}"`);
fs.writeFileSync(out, page + "\n");
