// The icon of the product in a square of 16 units. The console's is src/console/page/icon.svg.

export const iconPath = "M7 15V9C2 9 1 6 1 2c5 0 7 2 7 5 0-2 2-4 7-4 0 4-2 7-6 7v5z";
