// What a close code means for the client. 45xx: the server will say the same again, so do not come back.
// Everything else (40xx, a lost line, a standard code) is worth another try. room/codes.go has the server's side.

/** The close codes after which the client ends. */
export const CloseCode = {
  badToken: 4500,
  protocol: 4501,
  unknownCampaign: 4502,
  tooManyBad: 4504,
  origin: 4505,
} as const;

/** isFinal tells whether the client does not come back after a code. */
export function isFinal(code: number): boolean {
  return code >= 4500 && code <= 4599;
}
