// The operations of a hotel for --extend: those of docs/operations.md, and a report.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { codeBlocks } from "./markdown.ts";

const page = readFileSync(new URL("../../docs/operations.md", import.meta.url), "utf8");

/** The program of the page. */
export const hotelProgram =
  codeBlocks(page).find(({ language }) => language === "ts hotel-operations.ts")?.text ?? "";

const operations = `
import { implement } from "plantstore";
import documented from "./hotel-operations.ts";

const reports = implement({
  async "GET /reports/occupancy"({ query: { from, to }, store }) {
    const { bookings } = store.collections;
    const nights = new Map();
    for (const booking of await bookings.list({ where: { status: "confirmed" } })) {
      const [start, end] = [booking.from > from ? booking.from : from, booking.to < to ? booking.to : to];
      const count = Math.max(0, (Date.parse(end) - Date.parse(start)) / 86_400_000);
      nights.set(booking.room_id, (nights.get(booking.room_id) ?? 0) + count);
    }
    const days = (Date.parse(to) - Date.parse(from)) / 86_400_000;
    return [...nights].map(([room_id, count]) => ({ room_id, nights: count, share: count / days }));
  },
});

export default [documented, reports];
`;

/** Writes the modules into a folder, and returns the path of the one for --extend. */
export function writeHotelOperations(folder: string): string {
  writeFileSync(join(folder, "hotel-operations.ts"), hotelProgram);
  const path = join(folder, "operations.ts");
  writeFileSync(path, operations);
  return path;
}
