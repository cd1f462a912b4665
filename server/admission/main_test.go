package admission

import (
	"testing"
	"time"

	"redrain/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// after ends when the door has had so many rounds.
func after(rounds int) <-chan time.Time { return time.After(time.Duration(rounds) * keepEvery) }
