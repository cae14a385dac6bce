// The scenario schema, compiled strictly, against the files that the loader is tested with (../corpus).
// Usage: node schema_test.js; exit status 77 when ajv is not installed (npm ci).
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const Ajv2020 = await import("ajv/dist/2020.js").then((module) => module.default.default, () => {
  console.log("skipped: ajv is not installed (npm ci in tests/scenarios/schema)");
  process.exit(77);
});

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.join(here, "../../..");
const read = (file) => JSON.parse(fs.readFileSync(file, "utf8"));
const filesIn = (folder) => fs.readdirSync(folder).filter((name) => name.endsWith(".json")).map((name) => path.join(folder, name));

const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false, allErrors: true });
const validate = ajv.compile(read(path.join(root, "scenarios/schema/scenario.schema.json")));

let failures = 0;
let files = 0;
function expect(valid, folder) {
  for (const file of filesIn(folder)) {
    ++files;
    if (validate(read(file)) === valid) continue;
    ++failures;
    const why = valid ? ajv.errorsText(validate.errors, { separator: "\n    " }) : "the schema accepts it";
    console.log(`FAILED: ${path.relative(root, file)}\n    ${why}`);
  }
}
expect(true, path.join(root, "scenarios"));
expect(true, path.join(here, "../corpus/good"));
expect(false, path.join(here, "../corpus/bad"));
expect(true, path.join(here, "../corpus/bad-semantics")); // what the schema sees belongs to bad
console.log(`${files} files, ${failures} failures`);
process.exit(failures === 0 ? 0 : 1);
