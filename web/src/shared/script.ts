// Scripts of other hosts, if an operator has configured them.

/** load adds a script to the page, once. After a failure the next call tries again. */
export function load(src: string): Promise<void> {
  if (document.querySelector(`script[src="${CSS.escape(src)}"]`)) return Promise.resolve();
  return new Promise((loaded, failed) => {
    const el = Object.assign(document.createElement("script"), { src, onload: () => loaded() });
    el.onerror = () => {
      el.remove();
      failed(new Error("a script cannot be loaded"));
    };
    document.head.append(el);
  });
}
