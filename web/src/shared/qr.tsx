// A QR code as a picture.

import { useMemo } from "preact/hooks";
import { encode } from "uqr";

const QUIET = 4; // modules of white around the code, as the standard asks

/** Qr is the code of an address, dark on white, which every phone can read. label is its accessible name. */
export function Qr({ address, label }: { address: string; label: string }) {
  const { size, path } = useMemo(() => drawn(address), [address]);
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label} shape-rendering="crispEdges">
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#1d0509" />
    </svg>
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
