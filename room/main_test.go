package room

import (
	"os"
	"testing"

	"redrain/internal/testenv"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(crowdEnv); url != "" {
		crowd(url)
		return
	}
	testenv.Main(m)
}
