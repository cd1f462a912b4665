// One rain from this player's side: what its card says when it has ended.

export class Round {
  rain = null; // the rain's id
  taps = 0;
  wins = 0;
  amount = 0;
  played = false; // it was seen falling
  dismissed = false;

  // of begins afresh where the rain is another one.
  of(rain) {
    return this.rain === rain ? this : Object.assign(new Round(), { rain });
  }

  tapped() {
    this.taps++;
  }

  won(amount) {
    this.wins++;
    this.amount += amount;
  }

  get hasCard() {
    return this.played && !this.dismissed;
  }
}
