import type { ComponentChildren } from "preact";
import type { Pages } from "../hooks.ts";
import { Button } from "./button.tsx";
import { Empty, Loading } from "./empty.tsx";
import { FaultBox } from "./fault.tsx";
import { t } from "./strings.ts";

/** Column is a column of a table: num ones are aligned right, with figures of one width. */
export interface Column<T> {
  key: string;
  head: ComponentChildren;
  num?: boolean;
  /** hide drops it on narrow screens. */
  hide?: boolean;
  cell: (row: T) => ComponentChildren;
}

export interface TableProps<T> {
  /** label names the table for screen readers. */
  label: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  rowKey: (row: T) => string;
  /** cards: on narrow screens each row becomes a card with a line for each column, so that no button is out of sight. */
  cards?: boolean;
}

/** Table is a table that scrolls sideways in its own frame where it is too wide; the keyboard can do that too. */
export function Table<T>({ label, columns, rows, rowKey, cards = false }: TableProps<T>) {
  const kind = (c: Column<T>) => `${c.num ? "num" : ""} ${c.hide ? "hideable" : ""}`;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label}>
      {/* The roles are said again, as a browser forgets them where style makes cards of the rows. */}
      <table role="table" aria-label={label} class={cards ? "cards" : ""}>
        <thead role="rowgroup"><tr role="row">{columns.map((c) => <th key={c.key} scope="col" role="columnheader" class={kind(c)}>{c.head}</th>)}</tr></thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={rowKey(row)} role="row">
              {columns.map((c) => <td key={c.key} role="cell" class={kind(c)} data-head={typeof c.head === "string" ? c.head : ""}>{c.cell(row)}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export interface PagedTableProps<T> extends Omit<TableProps<T>, "rows"> {
  pages: Pages<T>;
  /** rows are shown instead of all that is loaded, where it is filtered. */
  rows?: readonly T[];
  /** empty is shown where there are no rows. */
  empty: ComponentChildren;
}

/** PagedTable is a table of a list that comes page by page. */
export function PagedTable<T>({ pages, rows = pages.items, empty, ...table }: PagedTableProps<T>) {
  if (pages.items.length === 0) {
    if (pages.fault) return <FaultBox fault={pages.fault} retry={pages.reload} />;
    return pages.loading ? <Loading /> : <Empty>{empty}</Empty>;
  }
  return (
    <>
      <Table {...table} rows={rows} />
      <More pages={pages} />
    </>
  );
}

/** More is how many are shown, and the button for the next page. */
export function More<T>({ pages }: { pages: Pages<T> }) {
  return (
    <div class="more">
      {pages.fault && <FaultBox fault={pages.fault} retry={pages.more ? pages.loadMore : pages.reload} />}
      <span class="soft" role="status">{pages.loading ? t("loading") : pages.more ? t("shownSoFar", { n: pages.items.length }) : t("shownAll", { n: pages.items.length })}</span>
      {pages.more && <Button busy={pages.loading} onClick={pages.loadMore}>{t("more")}</Button>}
    </div>
  );
}
