// The stage: which scene is on, told by the state and the clock.

import { Component, type ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";

import { type Act, actOf, nextLook } from "./act.ts";
import { Board } from "./board.tsx";
import type { Feed } from "./feed.ts";
import { type Options, joinAddress } from "./options.ts";
import { Countdown, Falling } from "./rainy.tsx";
import { type State, ended } from "./state.ts";
import { Status } from "./status.tsx";
import { Waiting } from "./waiting.tsx";
import type { Wall, Weather } from "./wall.ts";
import { type Words, WordsContext } from "./words.tsx";

const REPAIR = 3_000; // ms after which a scene that could not be drawn is drawn anew
const PARTY = 12_000; // ms of confetti after a rain

/** What the stage shows. heard tells the stage that the state has changed; the answer of it ends that. */
export interface StageProps {
  feed: Feed;
  wall: Wall;
  words: Words;
  options: Options;
  page: URL;
  heard: (fn: () => void) => () => void;
}

/** Stage looks at the state after each change, and at the moments at which the clock changes the picture. */
export function Stage({ feed, wall, words, options, page, heard }: StageProps) {
  const [, look] = useState(0);
  useEffect(() => heard(() => look((n) => n + 1)), [heard]);
  const [state, t] = [feed.state, feed.now()];
  useEffect(() => {
    const timer = setTimeout(() => look((n) => n + 1), nextLook(state, t));
    return () => clearTimeout(timer);
  });
  const act = actOf(state, t);
  useEffect(() => {
    document.body.dataset.mode = act.kind;
  }, [act.kind]);
  wall.weather = weatherOf(act, state, t);
  return (
    <WordsContext.Provider value={words}>
      <Repaired>
        <Scene act={act} state={state} join={joinAddress(page, options, state.lan)} />
        <Status state={state} />
      </Repaired>
    </WordsContext.Provider>
  );
}

function Scene({ act, state, join }: { act: Act; state: State; join: string | null }) {
  switch (act.kind) {
    case "entering":
      return <Waiting state={state} left={null} line="entering" join={join} />;
    case "none":
      return <Waiting state={state} left={null} line="any_moment" join={join} />;
    case "waiting":
      return <Waiting state={state} left={act.left} line={act.paused ? "paused_waiting" : "any_moment"} join={join} />;
    case "countdown":
      return <Countdown state={state} number={act.number} join={join} />;
    case "falling":
      return <Falling state={state} go={act.go} soldOut={act.soldOut} paused={false} join={join} />;
    case "paused":
      return <Falling state={state} go={false} soldOut={false} paused join={join} />;
    case "board":
      return <Board state={state} left={act.left} finale={act.finale} join={join} />;
  }
}

function weatherOf(act: Act, state: State, t: number): Weather {
  const rains = act.kind === "falling" || act.kind === "paused";
  const end = ended(state, t) ?? state.lastEnd ?? 0;
  return {
    rain: rains ? state.rain : null,
    dim: act.kind === "paused",
    calm: !rains && act.kind !== "countdown",
    party: (act.kind === "falling" && act.soldOut) || (act.kind === "board" && (state.figures?.won ?? 0) > 0 && t >= end && t - end < PARTY),
  };
}

/** Repaired shows nothing for a moment where a scene could not be drawn, and then tries again: the wall has no reload button. */
class Repaired extends Component<{ children: ComponentChildren }, { broken: boolean }> {
  override state = { broken: false };
  #timer = 0;

  override componentDidCatch(fault: unknown): void {
    reportError(fault);
    this.setState({ broken: true });
    this.#timer = setTimeout(() => this.setState({ broken: false }), REPAIR);
  }

  override componentWillUnmount(): void {
    clearTimeout(this.#timer);
  }

  render() {
    return this.state.broken ? null : this.props.children;
  }
}
