package ledger_test

import (
	"fmt"
	"strconv"
	"testing"
	"unicode/utf8"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

// TestWhateverAProviderSays can be stored, and so can operators' texts. Otherwise a payment would be tried forever
// because its answer cannot be recorded.
func TestWhateverAProviderSays(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		texts := testenv.HostileTexts()
		b.Rich(t, "u", rain.Money(len(texts)))
		for i, text := range texts {
			id := strconv.Itoa(i)
			b.MustWithdraw(t, id, "u", 1)
			write := func(what string, err error) {
				t.Helper()
				testenv.WantErr(t, err, nil, fmt.Sprintf("%s %.40q", what, text))
			}
			by := ledger.Person{Name: text, Reason: text}
			write("held", b.Hold(ctx, id, by))
			o, err := b.Approvals.Do(ctx, ledger.Deed{Act: ledger.ActBack, Target: id, Reference: text}, by)
			write("asked for", err)
			testenv.WantErr(t, paytest.Err3(b.Approvals.Confirm(ctx, o.Pending.ID, by)), ledger.ErrSamePerson,
				fmt.Sprintf("%.40q alone gives back", text))
			_, err = b.Approvals.Reject(ctx, o.Pending.ID, by)
			write("rejected", err)
			write("released", b.Release(ctx, id, by))
			w := b.LeaseOne(t)
			write("again", b.RecordRetry(ctx, w, 0, text))
			w = b.LeaseOne(t)
			write("waiting", b.RecordWaiting(ctx, w, ledger.Waiting{State: ledger.WithdrawalAction, Reason: text,
				Reference: text, Action: ledger.Action{URL: text, Data: text}}))
			w = b.LeaseOne(t)
			switch i % 3 {
			case 0:
				write("paid", b.RecordPaid(ctx, w, text))
			case 1:
				write("refused", b.RecordRefused(ctx, w, text))
			case 2:
				write("dead", b.RecordDead(ctx, w, text))
			}
			is, err := b.Withdrawal(ctx, id)
			if err != nil || !utf8.ValidString(is.Reference+is.LastError+is.Action.Data) {
				t.Errorf("%.40q is read as %+v, %v", text, is, err)
			}
		}
	})
}

// TestWhateverTheStreamSays can be stored as a dead letter. Otherwise a message would come again forever.
func TestWhateverTheStreamSays(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		c := b.OpenCampaign(t, "c1", paytest.FullCampaign("c1").Spec)
		for i, text := range testenv.HostileTexts() {
			_, err := b.BuryMessage(ctx, posting.Message{Name: strconv.Itoa(i) + text, Campaign: text,
				Payload: []byte(text), Reason: text})
			testenv.WantErr(t, err, nil, fmt.Sprintf("a message %.40q", text))
			for _, e := range []rain.Entry{
				{Ref: rain.EntryRef{Campaign: text, ID: "1-0"}, Wins: []rain.Win{{User: text, Drop: text, Seal: text}}},
				{Ref: rain.EntryRef{Campaign: c.ID, ID: text}, Wins: []rain.Win{{User: text, Drop: text, Seal: text}}},
				{Ref: rain.EntryRef{Campaign: text, ID: text}, Reclaim: &rain.Reclaim{Seal: text}},
			} {
				testenv.WantErr(t, testenv.Err(b.Post(ctx, []rain.Entry{e})), nil,
					fmt.Sprintf("an entry of %.40q", text))
			}
		}
		testenv.Must(t, paytest.Err3(b.ListDeadLetters(ctx, "", 500)))
	})
}
