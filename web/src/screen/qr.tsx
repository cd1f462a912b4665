// The QR code to join by, and the address under it for those who type.

import { Qr as Code } from "../shared/qr.tsx";
import { spoken } from "./options.ts";
import { T, useWords } from "./words.tsx";

function Qr({ address }: { address: string }) {
  return <Code address={address} label={useWords().t("qr_label", { address: spoken(address) })} />;
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
