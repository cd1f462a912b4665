// A few words for making documents.

// h makes an element. Properties starting with "on" are listeners; class, data-… and aria-… are attributes; the
// others are properties of the element. Children are nodes or texts; null and false are left out.
export function h(tag, props = {}, ...children) {
  const el = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null) continue;
    if (name.startsWith("on")) el.addEventListener(name.slice(2), value);
    else if (name in el && !name.includes("-")) el[name] = value;
    else el.setAttribute(name, value);
  }
  el.append(...children.flat().filter((c) => c !== null && c !== false && c !== undefined));
  return el;
}

export const button = (label, onclick, kind = "") =>
  h("button", { type: "button", className: `button ${kind}`, onclick }, label);

export const badge = (text) => h("span", { className: `badge ${text}` }, text);

// toast says something for a while.
export function toast(text, kind = "") {
  const el = h("div", { className: `toast ${kind}` }, text);
  document.getElementById("toasts").append(el);
  setTimeout(() => el.remove(), kind === "bad" ? 9_000 : 4_000);
}

// confirm asks before something that cannot be taken back; it answers true or false.
export function confirm(title, text, yes) {
  return new Promise((resolve) => {
    const dialog = h("dialog", { onclose: () => (dialog.remove(), resolve(dialog.returnValue === "yes")) },
      h("h2", {}, title), h("p", {}, text),
      h("div", { className: "end" },
        button("Cancel", () => dialog.close()),
        button(yes, () => dialog.close("yes"), "main")));
    document.body.append(dialog);
    dialog.showModal();
  });
}

// once disables a button while its work is going on: a double click is one click.
export async function once(el, work) {
  if (el.disabled) return;
  el.disabled = true;
  try {
    await work();
  } finally {
    el.disabled = false;
  }
}

export const when = (ms) => (ms ? new Date(ms).toLocaleString() : "");
export const count = (n) => (n == null ? "–" : n.toLocaleString("en"));
