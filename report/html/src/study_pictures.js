// Pictures that a study has left: plots as they are, placements as coloured graphs, steps as timelines.
import { drawn, frame } from "./figure.js";
import { section } from "./page.js";

/** An SVG file as a picture: as an image it runs no script and loads nothing. */
function image(name, text) {
  const { node, box } = frame({ title: name.replace(/\.svg$/, ""), height: 10 });
  box.style.height = "auto";
  const picture = document.createElement("img");
  picture.alt = name;
  picture.addEventListener("load", () => drawn(node, 1));
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  box.append(picture);
  return { node };
}

export function pictures(main, { files = {} }) {
  const svg = Object.entries(files).filter(([name]) => name.endsWith(".svg"));
  if (svg.length === 0) return;
  const { node, body } = section("Pictures");
  main.append(node);
  for (const [name, text] of svg) body.append(image(name, text).node);
}
