import { useEffect, useState } from "preact/hooks";
import { api, seg, type ApiError } from "../api.ts";
import { useAction } from "../hooks.ts";
import { texts } from "../i18n.ts";
import { lists } from "../strings/lists.ts";
import type { PlayerList } from "../../shared/schemas.ts";
import { Button, Dialog, Field, FaultText, SelectField, toast } from "../ui/index.ts";
import { glance, MAX_FILE_BYTES, type Glance } from "./file.ts";
import { faultyLines } from "./said.ts";

const t = texts(lists);

type Way = "add" | "replace";
const WAYS: readonly Way[] = ["add", "replace"];

interface Props {
  list: PlayerList;
  onClose: () => void;
  onDone: (list: PlayerList) => void;
}

/** ImportDialog takes a CSV file, says what it would change, and puts who is in it on the list. */
export function ImportDialog({ list, onClose, onDone }: Props) {
  const [file, setFile] = useState<File | null>(null);
  const [way, setWay] = useState<Way>("add");
  const [seen, setSeen] = useState<Glance | null>(null);
  const [unread, setUnread] = useState(false);
  const [pressed, setPressed] = useState(false);
  useEffect(() => {
    setSeen(null);
    setUnread(false);
    if (!file || file.size > MAX_FILE_BYTES) return;
    const stop = new AbortController();
    glance(file, stop.signal).then((g) => stop.signal.aborted || setSeen(g), () => stop.signal.aborted || setUnread(true));
    return () => stop.abort();
  }, [file]);
  const send = useAction<{ file: File; way: Way }>(async (_, { file: body, way }) => {
    const csv = new Blob([body], { type: "text/csv" });
    const after = await api<PlayerList>(`/lists/${seg(list.list)}/members`, { method: way === "replace" ? "PUT" : "POST", body: csv });
    toast(t("imported", { list: list.list, before: list.members, after: after.members }));
    onDone(after);
  });
  const fault = !file ? (pressed ? t("noFile") : undefined) : file.size > MAX_FILE_BYTES ? t("tooBig") : unread ? t("unread") : undefined;
  const submit = async () => {
    setPressed(true);
    if (file && !fault && (await send.run({ file, way }))) onClose();
  };
  const lines = send.fault ? faultyLines(send.fault, list.of) : [];
  return (
    <Dialog title={t("importTitle", { list: list.list })} onClose={onClose} busy={send.busy}>
      <form noValidate onSubmit={(e) => (e.preventDefault(), void submit())}>
        <div class="fields">
          <Field label={t("file")} hint={t(`fileHint_${list.of}`)} fault={fault} wide>
            {(control) => <input {...control} type="file" name="file" accept=".csv,.txt,text/csv,text/plain" disabled={send.busy} onChange={(e) => (send.clear(), setFile(e.currentTarget.files?.[0] ?? null))} />}
          </Field>
          <SelectField name="way" label={t("way")} value={way} onChange={(v) => (send.clear(), setWay(v))} options={WAYS.map((value) => ({ value, label: t(`way_${value}`) }))} wide />
        </div>
        <div class="importing" role="status">
          {seen && (
            <>
              <p>{t(`would_${way}`, { n: seen.lines, members: list.members })}</p>
              {seen.begin.length > 0 && <pre aria-label={t("begins")}>{seen.begin.join("\n")}</pre>}
            </>
          )}
          {send.busy && <p>{t("underWay")}</p>}
        </div>
        <FaultText fault={send.fault} explain={(f) => explain(f, lines)} />
        {lines.length > 0 && <ul class="badlines" aria-label={t("badLines")}>{lines.map((line) => <li key={line}>{line}</li>)}</ul>}
        <div class="end">
          <Button onClick={onClose} disabled={send.busy}>{t("cancel")}</Button>
          <Button submit kind={way === "replace" ? "danger" : "main"} busy={send.busy}>{t(`do_${way}`)}</Button>
        </div>
      </form>
    </Dialog>
  );
}

function explain(fault: ApiError, lines: readonly string[]): string | undefined {
  if (lines.length > 0) return t("badLines");
  if (fault.code === "too_large") return t("tooBig");
  return fault.status === 0 ? t("unsure") : undefined;
}
