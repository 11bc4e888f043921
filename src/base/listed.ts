// Lists names in a sentence, which a contract may have hundreds of.

/** The first names, and how many more there are: "a, b, 12 more". */
export function listed(names: readonly string[], shownMax = 10): string {
  const more = names.length - shownMax;
  return (more > 0 ? [...names.slice(0, shownMax), `${more.toLocaleString("en")} more`] : names).join(", ");
}
