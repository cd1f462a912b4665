// The numbers of packets: people count from 1, and the API from 0.

/** numbered is the number of a packet for people. */
export function numbered(packet: string): string {
  return String(Number(packet) + 1);
}

/** packetOf is the packet with a number of people's. */
export function packetOf(number: number): string {
  return String(number - 1);
}
