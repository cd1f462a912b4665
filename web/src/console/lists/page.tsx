import { useState } from "preact/hooks";
import { api, seg, type Page } from "../api.ts";
import { count } from "../format.ts";
import { usePages } from "../hooks.ts";
import { texts } from "../i18n.ts";
import { go, to, type Route } from "../route.ts";
import { lists } from "../strings/lists.ts";
import type { PlayerList } from "../../shared/schemas.ts";
import { Act, PagedTable, Time, type Column } from "../ui/index.ts";
import { CreateDialog } from "./create.tsx";
import { ListPage } from "./one.tsx";
import { Purpose } from "./purpose.tsx";

const t = texts(lists);

/** ListsPage is all lists of players and addresses, #/lists, or one of them, #/lists/NAME. */
export function ListsPage({ route: { parts } }: { route: Route }) {
  const name = parts[1];
  return name ? <ListPage key={name} name={name} /> : <AllLists />;
}

function AllLists() {
  const all = usePages<PlayerList>((cursor, signal) => api<Page<PlayerList>>(`/lists?limit=50${cursor && `&cursor=${seg(cursor)}`}`, { signal }), []);
  const [creating, create] = useState(false);
  const columns: Column<PlayerList>[] = [
    { key: "list", head: t("name"), cell: (l) => <a class="id" href={to("lists", l.list)}>{l.list}</a> },
    { key: "purpose", head: t("purpose"), cell: (l) => <Purpose of={l} /> },
    { key: "of", head: t("of"), cell: (l) => t(`of_${l.of}`) },
    { key: "members", head: t("members"), num: true, cell: (l) => count(l.members) },
    { key: "changed", head: t("changed"), cell: (l) => <Time ms={l.changed_at} /> },
    { key: "by", head: t("by"), cell: (l) => l.changed_by },
  ];
  return (
    <section class="panel">
      <header>
        <div><h1>{t("title")}</h1><p class="soft">{t("lead")}</p></div>
        <Act needs="players" kind="main" onClick={() => create(true)}>{t("create")}</Act>
      </header>
      <PagedTable cards label={t("title")} columns={columns} pages={all} rowKey={(l) => l.list}
        empty={<><h2>{t("empty")}</h2><p>{t("emptyText")}</p></>} />
      {creating && <CreateDialog onClose={() => create(false)} onDone={(l) => go("lists", l.list)} />}
    </section>
  );
}
