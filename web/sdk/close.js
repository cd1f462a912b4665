// What a close code means for the client. 45xx: the server will say the same again, so do not come back.
// Everything else (40xx, a lost line, a standard code) is worth another try.

export const BAD_TOKEN = 4500;
export const UNKNOWN_CAMPAIGN = 4502;
export const TOO_MANY = 4503;

export function final(code) {
  return code >= 4500 && code <= 4599;
}
