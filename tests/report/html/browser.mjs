// Loads a page in headless Chromium, as a reader would, and hands back what became of it.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";

const names = ["chromium", "chromium-browser", "google-chrome"];

export const browser = names
  .flatMap((name) => (process.env.PATH ?? "").split(path.delimiter).map((folder) => path.join(folder, name)))
  .find((file) => fs.existsSync(file));

export const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--enable-logging=stderr", "--window-size=1280,1000"];

/** The page's elements as text once everything has been drawn, and what it said on its console. */
export function load(file, more = []) {
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), "report-browser-"));
  try {
    const ended = spawnSync(browser, [...flags, ...more, `--user-data-dir=${profile}`, "--virtual-time-budget=20000", "--dump-dom", pathToFileURL(file).href],
      { encoding: "utf8", timeout: 240000, maxBuffer: 1 << 28 });
    const console = ended.stderr.split("\n").filter((line) => /:CONSOLE[:(]/.test(line));
    // What the data blocks and the script hold is not what is shown.
    const shown = ended.stdout.replace(/<script[^>]*>[\s\S]*?<\/script>/g, "");
    return { dom: shown, whole: ended.stdout, console };
  } finally {
    fs.rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

const entities = { "&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": '"', "&nbsp;": "\u00a0" };
export const decoded = (text) => text.replace(/&(lt|gt|amp|quot|nbsp);/g, (entity) => entities[entity]);

/** Attributes of every element that has the attribute `name`, with the text that follows directly. */
export function elements(dom, name) {
  return [...dom.matchAll(new RegExp(`<[a-z0-9]+ [^>]*\\b${name}="[^>]*>([^<]*)`, "g"))].map(([tag, text]) => ({
    ...Object.fromEntries([...tag.matchAll(/([a-z-]+)="([^"]*)"/g)].map(([, key, value]) => [key, decoded(value)])),
    text: decoded(text),
  }));
}
