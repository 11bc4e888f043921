// The operations of a hotel, as the module of --extend has them, without types.

export const hotelOperations = `
import { error, implement } from "plantstore";

export default implement({
  async "POST /bookings/{bookingId}/cancel"({ path, body, store }) {
    return store.transaction(async ({ bookings }) => {
      const booking = await bookings.get(path.bookingId);
      if (booking === undefined) return error(404, "There is no such booking.");
      if (booking.status === "cancelled") return error(409, "The booking is cancelled already.");
      return bookings.patch(path.bookingId, { status: "cancelled", note: body?.reason ?? null });
    });
  },

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

  async "POST /bookings"({ body, store }) {
    return store.transaction(async ({ bookings, rooms }) => {
      if ((await rooms.get(body.room_id)) === undefined) return error(422, "There is no such room.");
      const others = await bookings.list({ where: { room_id: body.room_id } });
      const isTaken = others.some(
        ({ from, to, status }) => status !== "cancelled" && from < body.to && body.from < to,
      );
      return isTaken ? error(409, "The room is taken.") : bookings.create(body);
    });
  },
});
`;
