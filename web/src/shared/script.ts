// Scripts of others, where an operator has asked for them.

/** load puts a script into the page, once. One that cannot be loaded is forgotten: the next call tries again. */
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
