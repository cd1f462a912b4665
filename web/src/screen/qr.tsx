// The QR code to join by, and the address under it for those who type.

import { useMemo } from "preact/hooks";
import { encode } from "uqr";

import { spoken } from "./options.ts";
import { T, useWords } from "./words.tsx";

const QUIET = 4; // modules of white around the code, as the standard asks

/** Qr is the code of an address, dark on white: what every phone reads from the last row. */
export function Qr({ address }: { address: string }) {
  const words = useWords();
  const { size, path } = useMemo(() => drawn(address), [address]);
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={words.t("qr_label", { address: spoken(address) })} shape-rendering="crispEdges">
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#1d0509" />
    </svg>
  );
}

/** JoinCard is the large code of the waiting scene. */
export function JoinCard({ address }: { address: string | null }) {
  if (!address) return <NoAddress />;
  return (
    <section class="join-card">
      <h2><T k="scan" /></h2>
      <Qr address={address} />
      <Address address={address} />
    </section>
  );
}

/** JoinCorner is the small code of the other scenes, for who comes late. */
export function JoinCorner({ address }: { address: string | null }) {
  if (!address) return null;
  return (
    <section class="join-corner">
      <Qr address={address} />
      <p><T k="scan_next" /></p>
    </section>
  );
}

function Address({ address }: { address: string }) {
  const text = spoken(address);
  return <p class="address" style={{ "--chars": Math.max(text.length, 16) }}>{text}</p>;
}

// NoAddress is for who sets up the wall: a code that no phone can open would only be found out in the hall.
function NoAddress() {
  return (
    <section class="join-card no-address">
      <h2><T k="no_address" /></h2>
      <p><T k="no_address_hint" /></p>
    </section>
  );
}

// drawn is a code as the path of its dark modules, a run of them at a time.
function drawn(address: string): { size: number; path: string } {
  const { data, size } = encode(address, { ecc: "M", boostEcc: true, border: QUIET });
  let path = "";
  data.forEach((row, y) => {
    for (let x = 0; x < row.length; x++) {
      let run = 0;
      while (row[x + run]) run++;
      if (run > 0) path += `M${x} ${y}h${run}v1h-${run}z`;
      x += run;
    }
  });
  return { size, path };
}
