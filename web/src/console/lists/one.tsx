import "./lists.css";

import { useState } from "preact/hooks";
import { api, ApiError, apiResponse, post, seg, type Page } from "../api.ts";
import { useSettled } from "../create/settled.ts";
import { count } from "../format.ts";
import { useAction, useLoad, usePages } from "../hooks.ts";
import { texts } from "../i18n.ts";
import { go, to } from "../route.ts";
import { mayAct } from "../session.ts";
import { lists } from "../strings/lists.ts";
import type { ListMember, PlayerList } from "../../shared/schemas.ts";
import { Act, Confirm, FaultBox, FaultText, Loading, PagedTable, TextField, Time, toast, type Column } from "../ui/index.ts";
import { ImportDialog } from "./import.tsx";
import { Purpose } from "./purpose.tsx";
import { explainMembers } from "./said.ts";

const t = texts(lists);
const PAUSE = 300; // ms that a person has to pause before the server is asked

/** ListPage is one list: what it is for, who is on it, and what can be done with it. */
export function ListPage({ name }: { name: string }) {
  const path = `/lists/${seg(name)}`;
  const load = useLoad((signal) => api<PlayerList>(path, { signal }), [name]);
  const [doing, act] = useState<"import" | "delete" | null>(null);
  const list = load.data;
  return (
    <div class="stack">
      <section class="panel">
        <p><a href={to("lists")}>‹ {t("toLists")}</a></p>
        <header>
          <div><h1 class="row"><span class="listname">{name}</span>{list && <Purpose of={list} />}</h1>{list && list.purpose !== "leaving" && <p class="soft">{t(`words_${list.purpose === "deny" ? list.of : "invite"}`)}</p>}</div>
          {list && (
            <div class="row">
              <Act needs="players" kind="main" onClick={() => act("import")}>{t("import")}</Act>
              <Act needs="players" kind="danger" onClick={() => act("delete")}>{t("delete")}</Act>
            </div>
          )}
        </header>
        {list ? <Facts of={list} /> : load.fault ? <FaultBox fault={load.fault} retry={load.reload} /> : <Loading />}
      </section>
      {list && <Members list={list} changed={load.set} />}
      {list && doing === "import" && <ImportDialog list={list} onClose={() => act(null)} onDone={load.set} />}
      {list && doing === "delete" && (
        <Confirm danger title={t("deleteTitle", { list: name })} yes={t("deleteYes")} onClose={() => act(null)} run={async () => {
          await apiResponse(path, { method: "DELETE" });
          toast(t("deleted", { list: name }));
          go("lists");
        }}>
          <p>{t(list.purpose === "deny" ? "deleteDeny" : "deleteInvite", { n: list.members })}</p>
        </Confirm>
      )}
    </div>
  );
}

function Facts({ of: list }: { of: PlayerList }) {
  const facts: [string, preact.ComponentChildren][] = [
    [t("members"), <strong>{count(list.members)}</strong>],
    [t("of"), t(`of_${list.of}`)],
    [t("changed"), <Time ms={list.changed_at} />],
    [t("by"), list.changed_by],
  ];
  return <dl class="details">{facts.map(([label, value]) => <div key={label}><dt>{label}</dt><dd>{value}</dd></div>)}</dl>;
}

/** Members is who is on a list: page by page, or the one that is looked for, who can be put on it and taken off. */
function Members({ list, changed }: { list: PlayerList; changed: (list: PlayerList) => void }) {
  const path = `/lists/${seg(list.list)}`;
  const [text, setText] = useState("");
  const [removing, remove] = useState<string | null>(null);
  const wanted = text.trim();
  const member = useSettled(wanted, PAUSE);
  const found = usePages<ListMember>(async (cursor, signal) => {
    const query = new URLSearchParams({ limit: "50", ...(member && { member }), ...(cursor && { cursor }) });
    try {
      return await api<Page<ListMember>>(`${path}/members?${query}`, { signal });
    } catch (fault) {
      // Half an address is on no list; what is wrong with it is said where it is added.
      if (member && fault instanceof ApiError && fault.status === 422) return { items: [] };
      throw fault;
    }
  }, [list.list, member, list.changed_at]);
  const add = useAction<string>(async (_, who) => {
    changed(await post<PlayerList>(`${path}/members`, { members: [who] }));
    toast(t("added", { who, list: list.list }));
  });
  const columns: Column<ListMember>[] = [
    { key: "member", head: t(`one_${list.of}`), cell: (m) => (list.of === "players" ? <a class="id" href={to("users", m.member)}>{m.member}</a> : <span class="id">{m.member}</span>) },
    { key: "at", head: t("since"), cell: (m) => <Time ms={m.added_at} /> },
  ];
  if (mayAct()) {
    columns.push({
      key: "remove", head: <span class="unseen">{t("actions")}</span>,
      cell: (m) => <Act needs="players" small label={`${t("remove")} ${m.member}`} onClick={() => remove(m.member)}>{t("remove")}</Act>,
    });
  }
  return (
    <section class="panel" id="members">
      <header><h2>{t("who")}</h2></header>
      <search>
        <form class="row bottom" noValidate onSubmit={(e) => e.preventDefault()}>
          <TextField name="member" kind="search" label={t(`one_${list.of}`)} hint={t(`find_${list.of}`)} value={text} onInput={(v) => (add.clear(), setText(v))} />
          <Act needs="players" busy={add.busy} disabled={!wanted} onClick={() => void add.run(wanted)}>{t("add")}</Act>
        </form>
        <FaultText fault={add.fault} explain={(fault) => explainMembers(fault, list.of)} />
      </search>
      <PagedTable cards label={t("who")} columns={columns} pages={found} rowKey={(m) => m.member}
        empty={member ? <h3>{t("notOn", { who: member })}</h3> : <><h3>{t("nobody")}</h3><p>{t("nobodyText")}</p></>} />
      {removing !== null && (
        <Confirm danger title={t("removeTitle", { who: removing, list: list.list })} yes={t("removeYes")} onClose={() => remove(null)} run={async () => {
          changed(await post<PlayerList>(`${path}/remove`, { members: [removing] }));
          toast(t("removed", { who: removing, list: list.list }));
        }}>
          <p>{t(list.purpose === "deny" ? "removeDeny" : "removeInvite")}</p>
        </Confirm>
      )}
    </section>
  );
}
