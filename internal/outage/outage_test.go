package outage

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestOutageSaysItOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		o := &Outage{What: "posting", Log: slog.New(slog.NewTextHandler(&out, nil))}
		o.Works()
		for range 100 {
			o.Failed(errors.New("down"))
			<-time.After(time.Second) // of the bubble
		}
		o.Works()
		o.Works()
		o.Failed(errors.New("down"))
		if warns, infos := strings.Count(out.String(), "WARN"),
			strings.Count(out.String(), "INFO"); warns != 5 || infos != 1 {
			t.Errorf("%d warnings, %d notes:\n%s", warns, infos, &out)
		}
	})
}
