package e2e

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"redrain/client"
	"redrain/client/openapi"
	"redrain/internal/testenv"
	"redrain/payout/withdraw/webhook/webhooktest"
	"redrain/rain"
)

// TestYesterdaysLedger is the drill of docs/use/backups.md. The ledger is put back from a backup beside a newer Redis,
// NATS and payment provider. The wins come back by themselves. The payments are entered from the provider's statement;
// until then no player is paid.
func TestYesterdaysLedger(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.Parallel(t, testenv.Medium)
	d := newDrill(t)
	d.s = realSetting(t)
	n := d.start()
	c := d.rain(n.node, 5)
	d.win(n.node, c, "alice", "bob")
	d.withdraw(n.node, "alice", 300, client.WithdrawalPaid)
	d.withdraw(n.node, "bob", 100, client.WithdrawalPending) // the provider does not answer yet

	backup := d.dump()
	d.answers.Store(true)
	testenv.Eventually(t, time.Minute, "the payment of bob's", func() bool { return len(d.bank.Paid()) == 2 })
	d.win(n.node, c, "carol")
	d.withdraw(n.node, "carol", 400, client.WithdrawalPaid)
	d.withdraw(n.node, "alice", 200, client.WithdrawalPaid)
	paid := d.bank.Paid()
	n.Kill()

	d.restore(backup)
	d.want(d.command("--reason", "the drill"), "noted")
	n = d.start()
	testenv.Eventually(t, time.Minute, "carol's win, out of the stream", func() bool {
		return d.balance(n.node, "carol") == 1000
	})
	testenv.Equal(t, d.balance(n.node, "alice"), 700, "alice's balance without what she has taken out since the backup")
	api := newAPIClient(t, n.node)
	api.token = token(t, "alice")
	api.want(api.call("POST", "/me/withdrawals", `{"amount":700}`), http.StatusServiceUnavailable, "withdrawals_held")

	d.want(d.command("--paid", d.statement(paid)), "was paid already", "it was sent", "did not know it")
	d.want(d.command("--paid", d.statement(paid)), "was paid already") // again: nothing more
	for user, want := range map[string]rain.Money{"alice": 500, "bob": 900, "carol": 600} {
		testenv.Equal(t, d.balance(n.node, user), want, "%s has", user)
	}
	testenv.Equal(t, len(d.bank.Paid()), len(paid), "paid %v, and while withdrawals were held", paid)
	d.want(d.command("--end", "--reason", "entered"), "go on")
	d.win(n.node, c, "dave")
	d.withdraw(n.node, "carol", 600, client.WithdrawalPaid)
	for id, times := range paid {
		testenv.Equal(t, d.bank.Paid()[id], times, "payments of %s", id)
	}
	awaitBooks(t, n.client, c)
	books := testenv.Got(n.client.ReconcileFull(within(t, time.Minute), nil)).Must(t)
	if !books.Balanced {
		t.Errorf("the books: %+v", books)
	}
}

// drill is a setting whose database is put back.
type drill struct {
	t        *testing.T
	s        setting
	bank     *webhooktest.Receiver
	answers  atomic.Bool // whether the bank answers bob
	provider []string
	taken    map[string]string // withdrawals' players
	receiver string            // the bank, as the ledger names it
}

func newDrill(t *testing.T) *drill {
	t.Helper()
	d := &drill{t: t, bank: webhooktest.New(), taken: map[string]string{}}
	d.bank.Behave = func(r webhooktest.Request) webhooktest.Behaviour {
		if r.User == "bob" && !d.answers.Load() {
			return webhooktest.Fail
		}
		return webhooktest.Pay
	}
	server := httptest.NewServer(d.bank)
	t.Cleanup(server.Close)
	d.provider = []string{"REDRAIN_PROVIDER=http", "REDRAIN_PROVIDER_URL=" + server.URL,
		"REDRAIN_PROVIDER_ACCOUNT=bank", "REDRAIN_PROVIDER_SECRET=" + webhooktest.Secret,
		"REDRAIN_PAYOUT_ATTEMPTS=1000"}
	return d
}

func (d *drill) start() *process {
	d.t.Helper()
	return startProcess(d.t, d.s, d.provider...)
}

// rain begins a campaign of packets of 1000 each, and a rain that lasts longer than the drill.
func (d *drill) rain(n *node, packets int) (campaign string) {
	d.t.Helper()
	spec := fund(d.t, n, "drill", rain.Money(packets)*1000, packets)
	spec.Split = rain.Even
	c := createCampaign(d.t, n.client, spec)
	startRain(d.t, n.client, c.ID, longRain(16))
	return c.ID
}

func (d *drill) win(n *node, campaign string, users ...string) {
	d.t.Helper()
	for _, user := range users {
		p := join(d.t, n, user, campaign)
		p.winOne(d.t)
		p.await(d.t, time.Minute, "settlement", func() bool { return len(p.settled) == 1 })
		p.hangUp()
	}
}

// withdraw takes money out, and waits until that is in a state.
func (d *drill) withdraw(n *node, user string, amount rain.Money, state string) {
	d.t.Helper()
	player := asPlayer(d.t, n, user)
	w := testenv.Got(player.Withdraw(within(d.t, 20*time.Second), amount, fmt.Sprint(amount))).Must(d.t)
	d.taken[w.ID] = user
	testenv.Eventually(d.t, time.Minute, "the withdrawal of "+user, func() bool {
		is, err := client.Get[client.Withdrawal](within(d.t, 10*time.Second), n.client, "withdrawals", w.ID)
		d.receiver = is.Receiver
		return err == nil && is.State == state && is.Receiver != ""
	})
}

func (d *drill) balance(n *node, user string) rain.Money {
	d.t.Helper()
	u, err := client.Get[openapi.Balance](within(d.t, 10*time.Second), n.client, "users", user)
	if err != nil {
		return -1 // not known yet
	}
	return u.Balance
}

// tool runs a program of MariaDB's on the setting's database.
func (d *drill) tool(stdin []byte, name string, args ...string) []byte {
	d.t.Helper()
	cfg := testenv.Got(mysql.ParseDSN(d.s.mysql)).Must(d.t)
	host, port, err := net.SplitHostPort(cfg.Addr)
	testenv.Must(d.t, err)
	cmd := exec.CommandContext(d.t.Context(), name, append([]string{"--no-defaults", "--protocol=tcp", "--host=" + host,
		"--port=" + port, "--user=" + cfg.User}, append(args, cfg.DBName)...)...)
	cmd.Stdin = bytes.NewReader(stdin)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		d.t.Fatalf("%s: %v\n%s", name, err, complaint.Bytes())
	}
	return out.Bytes()
}

// dump makes a backup, in the middle of everything.
func (d *drill) dump() []byte {
	return d.tool(nil, "mariadb-dump", "--single-transaction", "--hex-blob")
}

// restore puts a backup into a new database, which is the setting's from now on.
func (d *drill) restore(backup []byte) {
	d.t.Helper()
	d.s.mysql = testenv.MySQL(d.t)
	d.tool(backup, "mariadb")
}

// command is redrain restored.
func (d *drill) command(args ...string) string {
	d.t.Helper()
	cmd := exec.CommandContext(d.t.Context(), testenv.Binary(d.t, "faults"), append([]string{"restored",
		"--mysql", d.s.mysql, "--by", "drill", "--receiver", d.receiver}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.t.Errorf("restored %q: %v", args, err)
	}
	return string(out)
}

func (d *drill) want(out string, parts ...string) {
	d.t.Helper()
	for _, part := range parts {
		if !strings.Contains(out, part) {
			d.t.Errorf("no %q in:\n%s", part, out)
		}
	}
}

// statement is the list of the bank's payments, as a file.
func (d *drill) statement(paid map[string]rain.Money) string {
	d.t.Helper()
	var b strings.Builder
	b.WriteString("reference,withdrawal,user,amount\n")
	for id, amount := range paid {
		fmt.Fprintf(&b, "bank-%s,%s,%s,%d\n", id, id, d.taken[id], amount)
	}
	path := filepath.Join(d.t.TempDir(), "statement.csv")
	testenv.Must(d.t, os.WriteFile(path, []byte(b.String()), 0o600))
	return path
}
