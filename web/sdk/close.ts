// The meaning of close codes for the client. 45xx: a new connection would be closed too, so do not reconnect; 4507 can
// be answered with a new token. 4004: the player has opened this elsewhere, and a reconnect would close that
// connection. 1009: the token is too long. Everything else (40xx, a lost line, another standard code) is worth another
// try. room/codes.go has the server's side.

/** The close codes after which the client ends. */
export const CloseCode = {
  tooLarge: 1009,
  elsewhere: 4004,
  badToken: 4500,
  protocol: 4501,
  unknownCampaign: 4502,
  tooManyBad: 4504,
  origin: 4505,
  sentAway: 4506,
  expired: 4507,
  notInvited: 4508,
} as const;

const LATE_HELLO = "no hello in time"; // of 4501 too, but the next hello may be in time: the line was bad, or a machine busy

/** isFinal reports whether the client does not reconnect after a code; reason is the server's text. */
export function isFinal(code: number, reason?: string): boolean {
  return code === CloseCode.tooLarge || code === CloseCode.elsewhere || (code >= 4500 && code <= 4599 && reason !== LATE_HELLO);
}
