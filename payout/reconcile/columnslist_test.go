package reconcile_test

import (
	"fmt"
	"slices"
	"strings"

	"redrain/payout/paytest"
)

// pick is a row that is changed, and how the proof has to name it.
type pick struct{ where, named string }

// picks are the rows that are changed of each table.
var picks = map[string][]pick{
	"approval":         {{"reference = 'order 1'", "order a"}, {"reference = 'order 2'", "order a"}},
	"archive":          {{"id = 'c5'", "archive c5"}},
	"archive_step":     {{"archive = 'c5'", "c5"}},
	"audit":            {{"id = 1", "audit record 1 ("}},
	"balance":          {{"account_id = 'user:y'", "user:y"}, {"account_id = 'sponsor:acme'", "sponsor:acme"}},
	"campaign":         {{"id = 'c1'", "c1"}, {"id = 'c2'", "c2"}, {"id = 'c3'", "c3"}},
	"campaign_amounts": {{"campaign_id = 'c1'", "fund:c1"}},
	"campaign_tally":   {{"campaign_id = 'c1'", "c1"}, {"campaign_id = 'c3'", "c3"}},
	"chain_head":       {{"book = 'txn'", "chain"}},
	"chain_root":       {{"day > ''", "root of"}},
	"chain_stub":       {{"archive = 'c5' AND link % 2 = 0", "archive c"}},
	"dead_letter":      {{"kind = 'pay'", "dead letter"}, {"kind = 'withdrawal'", "dead letter"}},
	"deposit":          {{"reference = 'more'", "deposit:acme:more"}},
	"entry":            {{"account_id = 'user:y'", "transaction "}},
	"held":             {{"claim = 'h1-0'", "h1-0"}, {"claim = 'h1-1'", "h1-1"}, {"claim = 'h1-2'", "h1-2"}},
	"history":          {{"thing = 'w-sent' AND version = 2", "w-sen"}, {"thing = 'c3' AND version = 4", "c3"}},
	"lease":            {{"name = 'a job'", "a job"}},
	"list_member": {{"list_name = 'barred' AND who = 'somebody'", "list barred"},
		{"list_name = 'guests' AND who = 'nobody'", "list guests"}},
	"move": {{"id = 'done'", "move"}, {"id = 'underway'", "move"}},
	"payout": {{"campaign_id = 'c1' AND packet = 0", "c1"}, {"campaign_id = 'c2'", "c2"},
		{"campaign_id = 'c3' AND packet = 0", "c3"}},
	"player_list":      {{"name = 'barred'", "list barred"}, {"name = 'guests'", "list guests"}},
	"proof":            {{"campaign_id = 'c1'", "campaign c1"}, {"kind = 'full'", "everything (full)"}},
	"proof_checkpoint": {{"number = 1", "checkpoint "}},
	"proof_sum":        {{"subject = 'payouts c1 0'", "payouts c1 "}, {"subject = 'escrow c2 fund'", "escrow c2 fun"}},
	"provider_pace":    {{"receiver = '" + paytest.Bank + "'", paytest.Bank}},
	"provider_try":     {{"withdrawal_id = 'w-sent'", "w-sent"}},
	"rain":             {{"campaign_id = 'c1'", "campaign c1"}, {"campaign_id = 'c3'", "campaign c3"}},
	"reclaim":          {{"campaign_id = 'c2'", "reclaim:c2"}, {"campaign_id = 'c3'", "reclaim:c3"}},
	"reclaim_cut":      {{"campaign_id = 'c3'", "reclaim:c3"}},
	"sanction":         {{"number = 1", "player barred"}, {"number = 2", "player barred"}},
	"shard_epoch":      {{"campaign_id = 'c4'", "campaign c4"}},
	"shard_mark":       {{"campaign_id = 'c2'", "shard 0"}},
	"txn": {{"idem_key = 'deposit:acme:more'", "deposit:acme:mor"}, {"idem_key = " +
		"'paid:w-paid'", "paid:w-pai"}},
	"verdict": {{"number = 1", "verdicts about bot"},
		{"number = 2", "verdicts about bot"}},
	"winner": {{"campaign_id = 'c2' AND user_id = 'x'", "player x"},
		{"campaign_id = 'c3' AND user_id = 'y'", "player y"}},
	"withdrawal": {{"id = 'w-requested'", "w-requested"}, {"id = 'w-sent'", "w-sent"}, {"id = 'w-action'", "w-action"},
		{"id = 'w-paid'", "w-paid"}, {"id = 'w-refused'", "w-refused"}, {"id = 'w-dead'", "w-dead"}},
	"withdrawal_event": {{"withdrawal_id = 'w-paid' AND state = 'requested'", "w-pai"}},
}

// farAhead is a time in the year 2255, in Unix ms.
const farAhead = "9000000000000"

// values are values that could be there, of columns in which any other would make no sense.
var values = map[string][]string{
	"campaign.drained":        {"0", "1"},
	"campaign.split":          {"even", "double-mean"},
	"campaign.status":         {"paused", "open"},
	"dead_letter.kind":        {"pay", "reclaim"},
	"held.state":              {"released", "held"},
	"held.verdict":            {"hold", "deny"},
	"lease.expires_at":        {farAhead},
	"player_list.kind":        {"players", "addresses"},
	"player_list.purpose":     {"deny", "invite"},
	"proof.proved_at":         {farAhead},
	"provider_pace.next_turn": {farAhead + "000"},
	"provider_try.ends_at":    {farAhead},
	"rain.odds":               {"0", "-1"},
	"rain.odds_record":        {"0:5", ""},
	"rain.pacing":             {"none", "even"},
	"sanction.act":            {"ban", "unban"},
	"txn.kind":                {"deposit", "paid"},
	"verdict.verdict":         {"allow", "hold"},
	"withdrawal.dead":         {"0", "1"},
	"withdrawal.state":        {"requested", "sent"},
	"withdrawal_event.state":  {"requested", "sent"},
}

// free are the columns that no proof holds, by the table, and why it does no harm to change them.
var free = map[string]map[string]string{
	"it only numbers the rows: the chain, or the fingerprint, says which row is which": {"audit": "id", "history": "id",
		"dead_letter": "id"},
	"an entry that is refused is tried once more or less before it becomes a dead letter": {
		"attempt": "entry attempts last_error last_at"},
	"a player's program is told, or not told, that a win is being tried again": {"attempt_claim": "entry line_no " +
		"campaign_id packet user_id"},
	"a request that is repeated is answered otherwise, or carried out again; deposits, campaigns and withdrawals " +
		"have keys of their own and are booked once all the same": {"idempotency": "idem_key body_hash status answer " +
		"expires_at"},
	"a job is done by another node, or by two at once; all of them bear that": {
		"lease": "name holder term"},
	"moves under way are finished in another order": {"move": "created_at"},
	"the charts of an evening show something else; nothing is computed from them": {"figure": "campaign_id at " +
		"span_ms online waiting grabs p50_us p99_us taps won paid stock empty late"},
	"it says when the books were proved; the alarm comes early, or with the next proof that does not": {"proof": "" +
		"campaign_id kind took_ms balanced findings difference"},
	"the full proof that is made in slices, and what has its turn in each proof, begin anew, or leave out a part " +
		"until they come round again; redrain reconcile --full leaves out nothing": {
		"proof_reading": "id began_at spent_ms place"},
	"a receiver is asked more or less often than it allows, and answers that itself": {
		"provider_pace": "receiver", "provider_try": "withdrawal_id receiver"},
	"what is sealed with another key waits for a person; who can write the key can read it, and a win that is sealed " +
		"with a stolen key is named, because its shard does not know it": {"seal_key": "id secret created_at"},
	"a rebuild begins anew; when the last one fenced is for people": {"shard_epoch": "attempt fenced_at"},
	"while it is open: it is tried sooner or later, and why the last try failed is for people; once it has ended the " +
		"chain holds them": {"withdrawal": "attempts tries next_at last_error"},
}

// isFree is why nothing holds a column; "" where something must.
func isFree(c column) string {
	for why, tables := range free {
		if slices.Contains(strings.Fields(tables[c.table]), c.column) {
			return why
		}
	}
	return ""
}

// reversed takes a transaction out of the books, with its lines and what they have done to the balances.
func reversed(key string) string {
	const lines = "SELECT %s FROM entry e JOIN txn t ON t.id = e.txn_id WHERE t.idem_key = '%s'"
	return "UPDATE balance SET amount = amount - (" + fmt.Sprintf(lines, "e.amount", key) +
		" AND e.account_id = balance.account_id) WHERE account_id IN (" + fmt.Sprintf(lines, "e.account_id", key) +
		"); DELETE FROM entry WHERE txn_id IN (SELECT id FROM txn WHERE idem_key = '" + key + "'); " +
		"DELETE FROM txn WHERE idem_key = '" + key + "'; "
}

// booked puts transaction 900 into the books by hand, with its lines and what they do to the balances.
func booked(kind, key, from, to string, amount int) string {
	return fmt.Sprintf("INSERT INTO txn (id, kind, idem_key, created_at) VALUES (%[1]d, '%[2]s', '%[3]s', 1); "+
		"INSERT INTO entry (txn_id, line_no, account_id, amount) VALUES (%[1]d, 0, '%[4]s', -%[6]d), "+
		"(%[1]d, 1, '%[5]s', %[6]d); "+
		"UPDATE balance SET amount = amount - %[6]d WHERE account_id = '%[4]s'; "+
		"UPDATE balance SET amount = amount + %[6]d WHERE account_id = '%[5]s'; ", 900, kind, key, from, to, amount)
}

// forgeries are changes that go together, parted by semicolons.
var forgeries = map[string]struct {
	sql   string
	names []string
}{
	"a paid withdrawal is pending again": {reversed("paid:w-paid") + "DELETE FROM withdrawal_event WHERE " +
		"withdrawal_id = 'w-paid' AND state = 'paid'; UPDATE withdrawal SET state = 'sent', paid_id = 0, " +
		"finished_at = 0 WHERE id = 'w-paid'", []string{"withdrawal w-paid", "removed"}},
	"a sent withdrawal was never sent": {"DELETE FROM withdrawal_event WHERE withdrawal_id = 'w-sent' AND " +
		"state = 'sent'; UPDATE withdrawal SET state = 'requested', receiver = '', sent_at = 0 WHERE id = 'w-sent'",
		[]string{"withdrawal w-sent"}},
	"a withdrawal is another's": {"UPDATE withdrawal SET user_id = 'y' WHERE id = 'w-requested'; UPDATE entry SET " +
		"account_id = 'user:y' WHERE amount < 0 AND txn_id IN (SELECT id FROM txn WHERE idem_key = " +
		"'withdraw:w-requested'); UPDATE balance SET amount = amount + 3 WHERE account_id = 'user:u1'; UPDATE " +
		"balance SET amount = amount - 3 WHERE account_id = 'user:y'",
		[]string{"withdraw:w-requested", "withdrawal w-requested"}},
	"a withdrawal never was": {reversed("withdraw:w-requested") +
		"DELETE FROM withdrawal_event WHERE withdrawal_id = " +
		"'w-requested'; DELETE FROM withdrawal WHERE id = 'w-requested'; DELETE FROM history WHERE thing = " +
		"'w-requested'",
		[]string{"removed"}},
	"a withdrawal is invented": {booked("withdraw", "withdraw:w-new", "user:u1", "clearing:u1", 3) +
		"INSERT INTO withdrawal (id, user_id, amount, state, next_at, created_at, txn_id) VALUES ('w-new', 'u1', 3, " +
		"'requested', 1, 1, 900); INSERT INTO withdrawal_event (withdrawal_id, at, state, actor, reason) VALUES " +
		"('w-new', 1, 'requested', 'player:u1', '')", []string{"transaction 900 (withdraw:w-new", "withdrawal w-new"}},
	"a deposit is invented": {booked("deposit", "deposit:acme:new", "clearing:u1", "sponsor:acme", 3) +
		"INSERT INTO deposit (sponsor, reference, amount, actor, created_at, txn_id) VALUES ('acme', 'new', 3, " +
		"'ann', 1, 900)", []string{"transaction 900 (deposit:acme:new"}},
	"a sponsor is another": {"UPDATE campaign SET sponsor = 'thief' WHERE id = 'c2'; UPDATE entry SET account_id = " +
		"'sponsor:thief' WHERE account_id = 'sponsor:acme' AND txn_id IN (SELECT txn_id FROM reclaim WHERE " +
		"campaign_id = 'c2')", []string{"fund:c2", "reclaim:c2"}},
	"a campaign is drained with stock": {"UPDATE campaign SET status = 'closed', drained = 1, revision = revision + " +
		"1 WHERE id = 'c1'", []string{"campaign c1"}},
	"rains and the audit are gone": {"DELETE FROM rain WHERE campaign_id = 'c1'; DELETE FROM audit WHERE id > 0",
		[]string{"campaign c1", "table audit"}},
	"winners are rewritten": {"UPDATE winner SET wins = 2, amount = 100 WHERE campaign_id = 'c3' AND user_id = 'y'; " +
		"DELETE FROM winner WHERE campaign_id = 'c3' AND user_id = 'u1'", []string{"player y", "player u1"}},
	"a campaign and its history go back": {"UPDATE campaign SET drained = 0, revision = 3 WHERE id = 'c3'; " +
		"DELETE FROM history WHERE thing = 'c3' AND version = 4", []string{"removed"}},
	"a transaction vanishes as if it had been exported": {"INSERT INTO chain_stub (book, stripe, link, content, " +
		"hash, kind, idem_key, rest, archive, step) SELECT 'txn', stripe, link, hash AS content, hash, kind, " +
		"idem_key, hash, 'c5', 1 FROM txn WHERE idem_key = 'paid:w-paid'; " +
		reversed("paid:w-paid") + "UPDATE withdrawal SET paid_id = 0 WHERE id = 'w-paid'",
		[]string{"archive c5, step 1", "chain "}},
	"a transaction vanishes with papers of its own": {"INSERT INTO chain_stub (book, stripe, link, content, hash, " +
		"kind, idem_key, rest, archive, step) SELECT 'txn', stripe, link, hash AS content, hash, kind, idem_key, " +
		"hash, 'c2', 1 FROM txn WHERE idem_key = " +
		"'paid:w-paid'; " +
		reversed("paid:w-paid") + "INSERT INTO archive_step (archive, number, at, txn_id, links, digest, payouts, " +
		"amount_paid, packets_back, amount_back) VALUES ('c2', 1, 1, 0, 1, 'x', 0, 0, 0, 0); INSERT INTO archive " +
		"(id, " +
		"file, links, payouts, amount_paid, packets_back, amount_back, actor, began_at, finished_at) VALUES ('c2', " +
		"'x', " +
		"1, 0, 0, 0, 0, 'ann', 1, 1)", []string{"archive c2: it has no history", "archive c2, step 1", "campaign c2"}},
	"the papers of a dropped campaign are gone": {"DELETE FROM chain_stub WHERE archive = 'c5'; DELETE FROM " +
		"archive_step WHERE archive = 'c5'; DELETE FROM archive WHERE id = 'c5'",
		[]string{"archive c5: its row was removed", "carried:c5:1", "campaign c5", "were removed", "was removed"}},
	"the steps of a dropped campaign are gone": {"DELETE FROM archive_step WHERE archive = 'c5'",
		[]string{"there is no such step", "archive c5 is of 2 links, and 0"}},
	"what was carried to one is another's": {"UPDATE entry SET account_id = 'user:v' WHERE account_id = 'user:z' AND " +
		"txn_id = (SELECT txn_id FROM archive_step WHERE archive = 'c5'); UPDATE balance SET amount = amount - 10 " +
		"WHERE account_id = 'user:z'; UPDATE balance SET amount = amount + 10 WHERE account_id = 'user:v'",
		[]string{"(carried:c5:1;"}},
	"what was carried is more": {"UPDATE entry SET amount = amount * 2 WHERE txn_id = (SELECT txn_id FROM " +
		"archive_step WHERE archive = 'c5'); UPDATE balance SET amount = amount + 20 WHERE account_id = 'user:u1'",
		[]string{"(carried:c5:1;", "carried out of the escrow", "step 1 of archive c5"}},
	"a payout of a dropped campaign comes back": {"INSERT INTO payout (campaign_id, packet, claim, user_id, amount, " +
		"drop_id, shard, won_at, entry_seq, settled_at, txn_id) SELECT 'c5', 0, 'c5-0', user_id, 10, drop_id, 0, " +
		"won_at, entry_seq, settled_at, txn_id FROM payout WHERE campaign_id = 'c2'", []string{"campaign c5"}},
	"a removed row is there again": {"INSERT INTO txn (id, kind, idem_key, created_at, stripe, link, hash) SELECT " +
		"901, 'pay', 'pay:c5', 1, stripe, link, hash FROM chain_stub WHERE archive = 'c5' AND link % 2 = 0",
		[]string{"although its row has left the books"}},
	"a dead letter is gone": {"DELETE FROM dead_letter WHERE kind = 'withdrawal'; UPDATE withdrawal SET dead = 0 " +
		"WHERE id = 'w-dead'", []string{"dead letter", "withdrawal w-dead"}},
}
