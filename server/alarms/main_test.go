package alarms

import (
	"testing"

	"redrain/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }
