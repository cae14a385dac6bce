// The report: reads the two data blocks of the page, and draws a run or a study.
import { markYardsticks, readDetail, readSummary } from "./data.js";
import { element, header, section } from "./page.js";
import { renderRun } from "./run.js";
import { renderStudy } from "./study.js";

async function start() {
  const root = document.getElementById("report");
  try {
    const first = readSummary();
    const detail = await readDetail();
    markYardsticks(first, detail);
    root.append(header(first));
    const main = element("main");
    root.append(main);
    const render = first.summary.study === undefined ? renderRun : renderStudy;
    render(main, first, detail);
    document.documentElement.dataset.ready = "true";
  } catch (error) {
    root.append(section("What went wrong", element("p", {}, `This report cannot be shown: ${error.message}`)).node);
    throw error;
  }
}

start();
