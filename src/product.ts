// The words of the product: its name, its icon and the plants of the demo.

import type { Plant } from "./core/contract/fields.ts";

export const productName = "Plant Store";

/** The path of the icon in a square of 16 units. The console's is src/console/page/icon.svg. */
export const iconPath = "M7 15V9C2 9 1 6 1 2c5 0 7 2 7 5 0-2 2-4 7-4 0 4-2 7-6 7v5z";

/** The plant that the demonstration edits, which is the second one, after the edit. */
export const editedDemoPlant: Plant = { name: "Ficus lyrata", tag: "indoor" };

export const demoPlants: readonly Plant[] = [
  { name: "Monstera deliciosa", tag: "tropical" },
  { name: "Ficus lyrata", tag: "tropical" },
  { name: "Philodendron hederaceum", tag: "tropical" },
  { name: "Lavandula angustifolia", tag: "herb" },
  { name: "Ocimum basilicum", tag: "herb" },
  { name: "Salvia rosmarinus", tag: "herb" },
  { name: "Echeveria elegans", tag: "succulent" },
  { name: "Aloe vera", tag: "succulent" },
  { name: "Quercus robur", tag: "tree" },
  { name: "Ginkgo biloba", tag: "tree" },
  { name: "Dionaea muscipula", tag: "carnivorous" },
  { name: "Taraxacum officinale" },
];
