import type { Route } from "./route.ts";
import { Empty } from "./ui/index.ts";
import { pages } from "./pages.tsx";

/** Campaigns is the list of campaigns with, beside it, what the address names. */
export function Campaigns({ route }: { route: Route }) {
  const New = pages.new;
  return <main id="content" class="single" tabIndex={-1}>{route.parts[0] === "new" && New ? <New route={route} /> : <Empty>{route.parts.join("/")}</Empty>}</main>;
}
