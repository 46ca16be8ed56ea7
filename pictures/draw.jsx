// How does a Slack message look? Reads [{name, width, messages: [{text, blocks, time, broadcast}]}] from the file named first
// and writes one HTML page for each into the folder named second. The blocks are drawn by slack-blocks-to-jsx.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import React from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { Message } from "slack-blocks-to-jsx";

const LOGO =
  "data:image/svg+xml;utf8," +
  encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" width="36" height="36"><rect width="36" height="36" rx="8" fill="#2563eb"/>' +
      '<text x="18" y="25" text-anchor="middle" font-family="sans-serif" font-weight="900" font-size="20" fill="#fff">U</text></svg>',
  );
const PEOPLE = { users: [{ id: "U0OPS", name: "olivia" }], channels: [], user_groups: [] };

// Two faults of the drawing package, mended here: it takes `verbatim` for "no formatting" (Slack: only no automatic links), and
// it takes what stands between the colons of two times for an emoji.
function mended(node) {
  if (Array.isArray(node)) return node.map(mended);
  if (node === null || typeof node !== "object") return node;
  const { verbatim, ...rest } = node;
  return Object.fromEntries(
    Object.entries(rest).map(([key, value]) => [
      key,
      key === "text" && typeof value === "string" ? value.replace(/(\d\d):(\d\d)/g, "$1\u2236$2") : mended(value),
    ]),
  );
}

const [source, folder, stylesheet] = process.argv.slice(2);
const style = readFileSync(stylesheet, "utf8");
for (const picture of JSON.parse(readFileSync(source, "utf8"))) {
  const body = picture.messages
    .map((message) =>
      renderToStaticMarkup(
        <Message
          blocks={mended(message.blocks)}
          name="Unthrottle"
          logo={LOGO}
          theme="light"
          time={new Date(message.time)}
          data={PEOPLE}
        />,
      ),
    )
    .join("");
  const page =
    `<!doctype html><html><head><meta charset="utf-8"><style>${style}</style>` +
    `<style>body{box-sizing:border-box;margin:0;padding:12px;background:#fff;width:${picture.width}px;font-family:Lato,"Noto Sans",sans-serif}</style>` +
    `</head><body>${body}</body></html>`;
  writeFileSync(join(folder, `${picture.name}.html`), page, "utf8");
}
