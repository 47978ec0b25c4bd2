// Copies what the pages use out of node_modules into static/vendor/, with each package's licence beside it.
import { cp, mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const packages = join(here, "node_modules");
const vendor = join(here, "..", "static", "vendor");

const sans = "@fontsource-variable/atkinson-hyperlegible-next";
const mono = "@fontsource-variable/atkinson-hyperlegible-mono";

const wanted = {
  "htmx.min.js": "htmx.org/dist/htmx.min.js",
  "htmx.LICENSE.txt": "htmx.org/LICENSE",
  "modern-normalize.css": "modern-normalize/modern-normalize.css",
  "modern-normalize.LICENSE.txt": "modern-normalize/license",
  "sans-latin.woff2": `${sans}/files/atkinson-hyperlegible-next-latin-wght-normal.woff2`,
  "sans-latin-ext.woff2": `${sans}/files/atkinson-hyperlegible-next-latin-ext-wght-normal.woff2`,
  "mono-latin.woff2": `${mono}/files/atkinson-hyperlegible-mono-latin-wght-normal.woff2`,
  "mono-latin-ext.woff2": `${mono}/files/atkinson-hyperlegible-mono-latin-ext-wght-normal.woff2`,
  "fonts.LICENSE.txt": `${sans}/LICENSE`,
};

await rm(vendor, { recursive: true, force: true });
await mkdir(vendor, { recursive: true });
for (const [name, source] of Object.entries(wanted)) {
  await cp(join(packages, source), join(vendor, name));
}
console.log(`${Object.keys(wanted).length} files in ${vendor}`);
