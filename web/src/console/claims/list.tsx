import "./claims.css";

import { useState } from "preact/hooks";
import { api, type Page } from "../api.ts";
import { readCount } from "../create/amounts.ts";
import { useSettled } from "../create/settled.ts";
import { usePages } from "../hooks.ts";
import { texts } from "../i18n.ts";
import { claims } from "../strings/claims.ts";
import { ui } from "../strings/ui.ts";
import { packetOf } from "../../shared/packet.ts";
import type { Campaign, Claim, ClaimState } from "../../shared/schemas.ts";
import { Button, PagedTable, SelectField, TextField } from "../ui/index.ts";
import { claimColumns } from "./columns.tsx";
import { Download, DownloadNote } from "./download.tsx";
import { claimsPath, type Filter } from "./filter.ts";

const t = texts(claims);
const states = texts(ui);
const STATES: readonly ClaimState[] = ["granted", "settled", "failed", "dead"];

/** How long a person has to pause before the server is asked, in ms. */
const PAUSE = 350;

/** Claims is who won what in a campaign: search, page by page, and as a file. */
export function Claims({ campaign: { id: campaign } }: { campaign: Campaign }) {
  const [user, setUser] = useState("");
  const [packet, setPacket] = useState("");
  const [state, setState] = useState<ClaimState | "">("");
  const typed = useSettled(user.trim(), PAUSE);
  const number = useSettled(packet.trim(), PAUSE);
  const badPacket = packet.trim() !== "" && !readCount(packet); // people count from 1
  const wanted = readCount(number);
  const filter: Filter = { user: typed, packet: wanted ? packetOf(wanted) : "", state };
  const filtered = Boolean(filter.user || filter.packet || filter.state);
  const list = usePages<Claim>((cursor, signal) => api<Page<Claim>>(claimsPath(campaign, filter, cursor), { signal }), [campaign, filter]);
  const clear = () => (setUser(""), setPacket(""), setState(""));
  return (
    <section class="panel claims">
      <header>
        <h2>{t("title")}</h2>
        <div class="row">
          <Button onClick={list.reload} busy={list.loading}>{t("reload")}</Button>
          <Download path={claimsPath(campaign, filter)} file={`claims-${campaign}.csv`} />
        </div>
      </header>
      <search>
        <form class="fields" noValidate onSubmit={(e) => (e.preventDefault(), list.reload())}>
          <TextField name="user" kind="search" label={t("user")} placeholder={t("exact")} value={user} onInput={setUser} />
          <TextField name="packet" kind="numeric" label={t("packet")} fault={badPacket ? t("badPacket") : undefined} value={packet} onInput={setPacket} />
          <SelectField name="state" label={t("state")} value={state} onChange={setState}
            options={[{ value: "", label: t("anyState") }, ...STATES.map((value) => ({ value, label: states(`state_${value}`) }))]} />
          {(user || packet || state) && <div class="clear"><Button onClick={clear}>{t("clear")}</Button></div>}
        </form>
      </search>
      <PagedTable cards label={t("title")} columns={claimColumns(true)} pages={list} rowKey={(c) => `${c.claim} ${c.user}`}
        empty={filtered ? <><h3>{t("noMatch")}</h3><p>{t("noMatchText")}</p></> : <><h3>{t("none")}</h3><p>{t("noneText")}</p></>} />
      <DownloadNote filtered={filtered} />
    </section>
  );
}
