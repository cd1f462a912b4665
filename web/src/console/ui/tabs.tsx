import { useSeen } from "../hooks.ts";

export interface Tab {
  key: string;
  label: string;
  href: string;
}

/** Tabs are links, each with an address of its own: the back button works, and a tab can be sent to somebody. */
export function Tabs({ label, tabs, chosen }: { label: string; tabs: readonly Tab[]; chosen: string }) {
  const row = useSeen(chosen);
  return (
    <nav ref={row} class="tabs" aria-label={label}>
      {tabs.map((tab) => <a key={tab.key} href={tab.href} aria-current={tab.key === chosen ? "page" : undefined}>{tab.label}</a>)}
    </nav>
  );
}
