import type { Route } from "../route.ts";
import { FindPlayer } from "./find.tsx";
import { PlayerPage } from "./one.tsx";

/** UsersPage finds players, #/users, or is one player's page, #/users/ID. */
export function UsersPage({ route: { parts, query } }: { route: Route }) {
  const user = parts[1];
  return user ? <PlayerPage key={user} user={user} /> : <FindPlayer prefix={query.get("prefix") ?? ""} />;
}
