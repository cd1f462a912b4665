// The pictures of players.

/** Profile is what others see of a player. */
export interface Profile {
  name?: string | undefined;
  /** address of a picture */
  avatar?: string | undefined;
  /** id of one of the server's own pictures */
  face?: string | undefined;
}

/** pictureOf is the address of a player's picture, if there is one. */
export function pictureOf({ avatar, face = "" }: Profile): string | undefined {
  return avatar || (/^[a-z]+$/.test(face) ? `/sdk/faces/${face}.svg` : undefined);
}
