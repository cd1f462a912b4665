import { texts } from "../i18n.ts";
import { campaign as strings } from "../strings/campaign.ts";
import { isLocal } from "../../shared/join.ts";
import { Qr } from "../../shared/qr.tsx";

const t = texts(strings);

/** JoinCode is the QR code of the players' address. An address that only this computer can open has none. */
export function JoinCode({ address }: { address: string }) {
  return isLocal(new URL(address).hostname) ? null : <Qr address={address} label={t("qrLabel", { address })} />;
}
