package ledger_test

import (
	"testing"

	"redrain/payout/paytest"
)

func TestMain(m *testing.M) { paytest.Main(m) }
