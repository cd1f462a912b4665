import "../claims/claims.css";

import { useState } from "preact/hooks";
import { api, type Page } from "../api.ts";
import { useSettled } from "../create/settled.ts";
import { usePages } from "../hooks.ts";
import { texts } from "../i18n.ts";
import { go, to } from "../route.ts";
import { mayAct } from "../session.ts";
import { players } from "../strings/players.ts";
import type { Banned, FoundPlayer } from "../../shared/schemas.ts";
import { Act, Badge, Button, Money, PagedTable, TextField, Time, type Column } from "../ui/index.ts";
import { ConfirmAct } from "./acts.tsx";

const t = texts(players);
const PAUSE = 300; // ms that a person has to pause before the server is asked

/** FindPlayer looks for players by the beginning of their ids, and lists who is banned. */
export function FindPlayer({ prefix: first }: { prefix: string }) {
  const [text, setText] = useState(first);
  const prefix = useSettled(text.trim(), PAUSE);
  const found = usePages<FoundPlayer>((cursor, signal) => {
    const query = new URLSearchParams({ limit: "50", ...(prefix && { prefix }), ...(cursor && { cursor }) });
    return api<Page<FoundPlayer>>(`/users?${query}`, { signal });
  }, [prefix]);
  const columns: Column<FoundPlayer>[] = [
    { key: "user", head: t("user"), cell: (p) => <><a class="id" href={to("users", p.user)}>{p.user}</a>{p.banned && <> <Badge tone="bad">{t("banned")}</Badge></>}</> },
    { key: "balance", head: t("balance"), num: true, cell: (p) => <Money minor={p.balance} /> },
  ];
  return (
    <div class="stack">
      <section class="panel">
        <header><div><h1>{t("title")}</h1><p class="soft">{t("lead")}</p></div></header>
        <search>
          <form class="row bottom" noValidate onSubmit={(e) => (e.preventDefault(), text.trim() && go("users", text.trim()))}>
            <TextField name="user" kind="search" label={t("find")} hint={t("findHint")} value={text} onInput={setText} />
            <Button submit kind="main" disabled={!text.trim()}>{t("open")}</Button>
          </form>
        </search>
        <PagedTable cards label={t("title")} columns={columns} pages={found} rowKey={(p) => p.user}
          empty={prefix ? <><h2>{t("noneFound")}</h2><p>{t("noneFoundText")}</p></> : <h2>{t("none")}</h2>} />
      </section>
      <Bans changed={found.reload} />
    </div>
  );
}

/** Bans is who is banned, why, by whom and since when. */
function Bans({ changed }: { changed: () => void }) {
  const list = usePages<Banned>((cursor, signal) => api<Page<Banned>>(`/bans?limit=50${cursor && `&cursor=${cursor}`}`, { signal }), []);
  const [lifting, lift] = useState<string | null>(null);
  const columns: Column<Banned>[] = [
    { key: "user", head: t("user"), cell: (b) => <a class="id" href={to("users", b.user)}>{b.user}</a> },
    { key: "reason", head: t("reason"), cell: (b) => <span class="why">{b.reason}</span> },
    { key: "by", head: t("by"), cell: (b) => b.by },
    { key: "at", head: t("at"), cell: (b) => <Time ms={b.at} /> },
  ];
  if (mayAct()) {
    columns.push({ key: "unban", head: <span class="unseen">{t("actions")}</span>, cell: (b) => <Act needs="players" small label={`${t("unbanTitle", { user: b.user })}`} onClick={() => lift(b.user)}>{t("unban")}</Act> });
  }
  return (
    <section class="panel" id="bans">
      <header><h2>{t("bans")}</h2></header>
      <PagedTable cards label={t("bans")} columns={columns} pages={list} rowKey={(b) => b.user} empty={<h3>{t("noBans")}</h3>} />
      {lifting !== null && <ConfirmAct act="unban" user={lifting} onClose={() => lift(null)} onDone={() => (list.reload(), changed())} />}
    </section>
  );
}
