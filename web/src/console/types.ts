// What the API answers, as docs/openapi.yaml has it. Money is minor units; times are Unix milliseconds on the server's
// clock; …_ms are durations. Fields with ? may be missing on an older server.

export interface Page<T> {
  items: T[];
  next_cursor?: string;
}

export interface Whoami {
  role: "operator" | "viewer";
  version?: string;
  server_time?: number;
  in_process?: boolean;
  guests?: boolean;
}

export type Split = "double_mean" | "low_variance" | "gaussian" | "even" | "list";
export type CampaignState = "loading" | "ready" | "raining" | "paused" | "closed";
export type RainPhase = "countdown" | "falling" | "paused" | "ended";
export type Pacing = "none" | "even";

export interface Rain {
  id: string;
  campaign: string;
  phase: RainPhase;
  starts_at: number;
  ends_at: number;
  duration_ms: number;
  drops_per_second: number;
  fall_ms: number;
  decoy_percent: number;
  pacing: Pacing;
  first_wave: number;
  commitment: string;
}

export interface NewRain {
  starts_in_ms?: number;
  starts_at?: number;
  duration_ms: number;
  drops_per_second: number;
  fall_ms: number;
  decoy_percent: number;
  pacing: Pacing;
}

export interface NewCampaign {
  name: string;
  sponsor: string;
  budget: number;
  packets: number;
  split: Split;
  min: number;
  max: number | null;
  amounts: number[] | null;
  wins_per_user: number;
  taps_per_user: number;
  shards: number;
  expires_in_ms: number;
}

export interface Campaign extends Omit<NewCampaign, "amounts"> {
  id: string;
  amounts?: number[] | null;
  state: CampaignState;
  created_at: number;
  expires_at: number;
  revision: number;
  rains: Rain[];
}

export interface Stats {
  online: number;
  taps: number;
  won: number;
  stock: number;
  paid: number;
  amount_won: number;
  amount_paid: number;
  amount_left: number;
  grabs_per_second: number;
  outcomes?: Record<string, number>;
  tap_p50_ms?: number | null;
  tap_p99_ms?: number | null;
  outbox?: number;
  dead?: number;
}

export interface Fairness {
  commitment: string;
  seed?: string;
  schedule: { rain: string; waves: number; drops: number; digest?: string };
}

export type ClaimState = "granted" | "settled" | "failed" | "dead";

export interface Claim {
  claim: string;
  user: string;
  packet: string;
  amount: number;
  at: number;
  state: ClaimState;
}

export interface Reconciliation {
  funded: number;
  paid: number;
  reclaimed: number;
  stock: number;
  unsettled: number;
  dead: number;
  difference: number;
  balanced: boolean;
  findings?: string[];
}

export interface Sponsor {
  sponsor: string;
  balance: number;
}

export interface Balance {
  user: string;
  balance: number;
}

export type WithdrawalState = "pending" | "paid" | "failed";

export interface Withdrawal {
  withdrawal: string;
  user: string;
  amount: number;
  state: WithdrawalState;
  created_at: number;
  finished_at?: number;
  reference?: string;
  reason?: string;
  dead: boolean;
  attempts: number;
  next_at?: number;
  last_error?: string;
}

export interface DeadLetter {
  claim: string;
  campaign: string;
  user: string;
  packet: string;
  amount: number;
  at: number;
  state: ClaimState;
  kind: "pay" | "reclaim" | "message" | "withdrawal";
  reason: string;
  created_at: number;
}

/** What has become of all dead letters that were retried. */
export interface Retried {
  retried: number;
  settled: number;
  still_dead: number;
  complete: boolean;
}

/** The check of everything. */
export interface Books {
  balanced: boolean;
  difference: number;
  checked: number;
  unbalanced: number;
  transactions: number;
  accounts: number;
  campaigns: (Reconciliation & { campaign: string })[];
  unchecked: { campaign: string; reason: string }[];
  findings: string[];
  checked_at: number;
}

export interface AuditRecord {
  at: number;
  actor: string;
  role: string;
  action: string;
  target: string;
  detail: Record<string, unknown> | null;
}

/** Alarm is something that an operator must look at. campaign is empty where it is about the whole server. */
export interface Alarm {
  code: string;
  campaign: string;
  message: string;
}
