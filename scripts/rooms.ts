// npm run update:rooms: draws the folders of src/ and their imports, docs/images/rooms.svg, by the
// layers that a test enforces.

import { join } from "node:path";
import { coreFolders, findImports, foldersOf, layers, readSources } from "./layers.ts";

/** From the left, and chosen so that no line crosses a box. All other folders are in the second. */
const columns: readonly (readonly string[])[] = [
  ["src/docs-page", "src/sandbox"],
  [],
  ["src/transfer", "src/admin-pages", "src/json"],
  ["src/admin"],
  ["src/openapi"],
];
const columnWidth = 172;
const boxWidth = 160;
const rowHeight = 66;
const boxHeight = 40;
const margin = 12;

const style = `
  :root { color-scheme: light dark; }
  text { font: 12px system-ui, sans-serif; fill: #333; text-anchor: middle; }
  .legend { text-anchor: start; }
  .core { fill: #1f6feb22; stroke: #1f6feb; }
  .extra { fill: #8c959f22; stroke: #8c959f; }
  path { fill: none; stroke: #8c959f; stroke-width: 1.5; }
  marker path { fill: #8c959f; stroke: none; }
  .page { fill: #fff; }
  @media (prefers-color-scheme: dark) { text { fill: #ccc; } .page { fill: #0d1117; } }`;

type Imports = ReadonlyMap<string, ReadonlySet<string>>;
type Place = { readonly row: number; readonly column: number };

const y = (row: number) => 4 * margin + row * rowHeight;
const x = (column: number) => margin + column * columnWidth + boxWidth / 2;

export async function drawRooms(): Promise<string> {
  const imports = await readRooms();
  const rows = inRows(imports);
  const places = [...imports.keys()].map((room): [string, Place] => {
    const row = rows.toReversed().findIndex((rooms) => rooms.includes(room));
    const column = columns.findIndex((rooms) => rooms.includes(room));
    return [room, { row, column: column === -1 ? 1 : column }];
  });
  const lines = places.flatMap(([room, from]) =>
    places
      .filter(([below]) => imports.get(room)?.has(below) && !isImplied(imports, room, below))
      .map(([, to]) => drawLine(from, to, places)),
  );
  const boxes = places.map(([room, { row, column }]) => {
    const kind = coreFolders.includes(room) ? "core" : "extra";
    return `<rect class="${kind}" x="${x(column) - boxWidth / 2}" y="${y(row)}" width="${boxWidth}" height="${boxHeight}" rx="4"/>
<text x="${x(column)}" y="${y(row) + 25}">${room.slice("src/".length)}</text>`;
  });
  const width = 2 * margin + 4 * columnWidth + boxWidth;
  const height = y(rows.length - 1) + boxHeight + margin;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img">
<title>The folders of src, from the command line at the top to the contract at the bottom, and their imports</title>
<style>${style}</style>
<marker id="end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0,0L8,4L0,8Z"/></marker>
<rect class="page" width="${width}" height="${height}"/>
<text class="legend" x="${margin}" y="24">The folders of src, the core in blue. An arrow is an import; those that follow from others are left out.</text>
${[...lines, ...boxes].join("\n")}
</svg>
`;
}

/** Runs down in the column of one of its ends, whichever is free, and within a row straight. */
function drawLine(from: Place, to: Place, places: readonly (readonly [string, Place])[]): string {
  const [fromX, toX] = [x(from.column), x(to.column)];
  const draw = (path: string) => `<path marker-end="url(#end)" d="${path}"/>`;
  if (from.row === to.row) {
    const side = (Math.sign(toX - fromX) * boxWidth) / 2;
    return draw(`M${fromX + side},${y(to.row) + boxHeight / 2}H${toX - side}`);
  }
  const gap = rowHeight - boxHeight;
  const between = places.filter(([, { row }]) => row > from.row && row < to.row);
  const isBlocked = between.some(([, { column }]) => column === to.column);
  const bend = y(isBlocked ? to.row : from.row + 1) - gap;
  const curve = `C${fromX},${bend + gap} ${toX},${bend - 8} ${toX},${bend + gap - 8}`;
  return draw(`M${fromX},${y(from.row) + boxHeight}V${bend}${curve}V${y(to.row)}`);
}

/** The folders that each folder imports, from the lowest layer up. */
async function readRooms(): Promise<Imports> {
  const names = [...new Set(layers.flatMap(foldersOf))];
  const imports = new Map(names.map((name) => [name, new Set<string>()]));
  const roomOf = (path: string) => names.find((name) => path.startsWith(`${name}/`));
  for (const source of await readSources()) {
    const room = roomOf(source.path);
    for (const imported of findImports(source).map(roomOf))
      if (room !== undefined && imported !== undefined && imported !== room) imports.get(room)?.add(imported);
  }
  return imports;
}

/** Joins neighbouring layers that do not import each other. */
function inRows(imports: Imports): string[][] {
  const rows: string[][] = [];
  const seen = new Set<string>();
  for (const names of layers.map(foldersOf)) {
    const layer = names.filter((name) => !seen.has(name));
    for (const name of layer) seen.add(name);
    if (layer.length === 0) continue;
    const last = rows.at(-1) ?? [];
    if (layer.some((room) => last.length === 0 || last.some((each) => imports.get(room)?.has(each))))
      rows.push(layer);
    else last.push(...layer);
  }
  return rows;
}

/** Whether a room imports another one also by way of a third. */
function isImplied(imports: Imports, room: string, below: string): boolean {
  const others = [...(imports.get(room) ?? [])].filter((each) => each !== below);
  return others.some((each) => imports.get(each)?.has(below) || isImplied(imports, each, below));
}

if (import.meta.main) await Bun.write(join(import.meta.dir, "../docs/images/rooms.svg"), await drawRooms());
