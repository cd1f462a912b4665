// Server-Sent Events from a stream of text, by https://html.spec.whatwg.org/multipage/server-sent-events.html.
// EventSource itself cannot send the token.

/** ServerEvent is one event of the stream. */
export interface ServerEvent {
  event: string;
  data: string;
}

/** Parser takes the stream in pieces of any size. */
export class Parser {
  #rest = ""; // of a line without its end yet
  #afterCR = false; // the piece before ended with a CR: an LF that follows belongs to it
  #event = "";
  #data: string[] = [];

  /** push takes a piece and returns the events that it completes. */
  push(piece: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    if (piece === "") return events;
    if (this.#afterCR && piece.startsWith("\n")) piece = piece.slice(1);
    this.#afterCR = piece.endsWith("\r");
    const lines = (this.#rest + piece).split(/\r\n|\r|\n/);
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      const event = this.#line(line);
      if (event) events.push(event);
    }
    return events;
  }

  #line(line: string): ServerEvent | null {
    if (line === "") return this.#dispatch();
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon); // a comment has the name ""
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.#event = value;
    else if (field === "data") this.#data.push(value);
    return null;
  }

  #dispatch(): ServerEvent | null {
    const done = { event: this.#event || "message", data: this.#data.join("\n") };
    const empty = this.#data.length === 0;
    this.#event = "";
    this.#data = [];
    return empty ? null : done;
  }
}
