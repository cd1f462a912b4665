package web_test

import (
	"testing"

	"redrain/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.SideBySide()
	testenv.Main(m)
}
