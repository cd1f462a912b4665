import { useEffect, useState } from "preact/hooks";
import { type ApiError, api, seg } from "../api.ts";
import { to } from "../route.ts";
import type { Campaign } from "../../shared/schemas.ts";

const names = new Map<string, Promise<string>>(); // a name never changes, so it is asked for until it is known; "": of what is gone

/** CampaignLink is a campaign by its name, or by its id as long as there is none. */
export function CampaignLink({ id }: { id: string }) {
  const [name, setName] = useState("");
  useEffect(() => {
    let here = true;
    if (!names.has(id)) names.set(id, api<Campaign>(`/campaigns/${seg(id)}`).then((c) => c.name, (fault: ApiError) => (fault.status === 404 || names.delete(id), "")));
    void names.get(id)?.then((found) => here && setName(found));
    return () => void (here = false);
  }, [id]);
  return <a class={name ? "id" : "mono"} title={id} href={to("campaigns", id)}>{name || id}</a>;
}
