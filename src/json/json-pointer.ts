// Writes and reads JSON pointers (RFC 6901), such as "/paths/~1parcels/post".

import { decodePercent } from "./percent-encoding.ts";

/** Appends names of members to a pointer. */
export function pointerTo(pointer: string, ...members: readonly string[]): string {
  return members.reduce(
    (parent, member) => `${parent}/${member.replaceAll("~", "~0").replaceAll("/", "~1")}`,
    pointer,
  );
}

/** The names of members in a reference, such as "#/components/schemas/Parcel". */
export function referencedMembers(reference: string): string[] {
  return reference
    .replace(/^#\/?/, "")
    .split("/")
    .filter((member) => member !== "")
    .map((member) => decodePercent(member).replaceAll("~1", "/").replaceAll("~0", "~"));
}
