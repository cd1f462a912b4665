// Which page stands at which address: the first part after #/.

import type { JSX } from "preact";
import type { Route } from "./route.ts";

export type PageComponent = (props: { route: Route }) => JSX.Element | null;

/** pages by the first part of the address. `campaigns` and `new` are drawn beside the list of campaigns. */
export const pages: Record<string, PageComponent> = {};
