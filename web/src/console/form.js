// Forms in a dialog: fields are checked here as far as they can be, and by the server for good.

import { newKey } from "../shared/api.ts";
import { minor } from "../shared/money.ts";
import { button, h, once } from "./dom.js";

// The kinds of fields: how a text becomes what the API takes. undefined leaves the field out.
const READ = {
  text: (s) => s.trim() || undefined,
  money: (s) => (s.trim() === "" ? undefined : (minor(s) ?? new Error("an amount in yuan, such as 88.00"))),
  count: (s) => (s.trim() === "" ? undefined : /^\d{1,9}$/.test(s.trim()) ? Number(s) : new Error("a whole number")),
  seconds: (s) => (s.trim() === "" ? undefined : Number(s) >= 0 ? Math.round(Number(s) * 1000) : new Error("a number of seconds")),
  amounts: (s) => {
    if (s.trim() === "") return undefined;
    const list = s.trim().split(/[\s,;]+/).map(minor);
    return list.includes(null) ? new Error("amounts in yuan, separated by spaces or commas") : list;
  },
};

// dialog opens a form. fields: {name, label, kind, value, hint, options, wide, required}. send(body, key) does the work and may throw
// an ApiError, whose faults go beside their fields. The key stays the same until it has succeeded: a repeated try is
// the same request. Answers with what send answered, or null when it was cancelled.
export function dialog({ title, note, fields, yes, send }) {
  return new Promise((resolve) => {
    const key = newKey();
    let answer = null;
    const general = h("p", { className: "stale", role: "alert" });
    const go = button(yes, () => {}, "main");
    go.type = "submit";
    const form = h("form", { className: "fields", noValidate: true, onsubmit: (e) => (e.preventDefault(), once(go, submit)) },
      fields.map(field), h("div", { className: "end wide" }, button("Cancel", () => el.close()), go));
    const el = h("dialog", { onclose: () => (el.remove(), resolve(answer)) },
      h("h2", {}, title), note && h("p", { className: "soft" }, note), general, form);

    async function submit() {
      const { body, faults } = read(fields, form);
      if (!show(form, faults)) return;
      try {
        answer = await send(body, key);
        el.close();
      } catch (fault) {
        const stray = (fault.fields ?? []).filter((f) => !form.elements[f.field]);
        show(form, Object.fromEntries((fault.fields ?? []).map((f) => [f.field, f.message])));
        general.textContent = fault.fields?.length ? stray.map((f) => `${f.field} ${f.message}`).join("; ") : fault.message;
      }
    }

    document.body.append(el);
    el.showModal();
  });
}

function field({ name, label, kind, value = "", hint, options, wide }) {
  let input;
  if (options) input = h("select", { name }, options.map((o) => h("option", { value: o, selected: o === value }, o)));
  else if (kind === "amounts") input = h("textarea", { name, rows: 2 });
  else input = h("input", { name, value, placeholder: hint ?? "", autocomplete: "off", inputMode: kind === "text" ? "text" : "decimal" });
  return h("label", { className: wide ? "wide" : "" }, label, input, h("span", { className: "fault" }));
}

function read(fields, form) {
  const [body, faults] = [{}, {}];
  for (const { name, kind, required } of fields) {
    const value = READ[kind](form.elements[name].value);
    if (value instanceof Error) faults[name] = value.message;
    else if (value === undefined && required) faults[name] = "is required";
    else if (value !== undefined) body[name] = value;
  }
  return { body, faults };
}

// show writes the faults beside their fields; it says whether there are none.
function show(form, faults) {
  for (const label of form.querySelectorAll("label")) {
    const fault = faults[label.querySelector("[name]").name] ?? "";
    label.classList.toggle("faulty", fault !== "");
    label.querySelector(".fault").textContent = fault;
  }
  return Object.keys(faults).length === 0;
}
