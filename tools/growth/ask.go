package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"text/tabwriter"
	"time"
)

const (
	// askTries is how often each question is asked after one that does not count.
	askTries = 31
	askLimit = time.Minute
	// deepPages is how many pages of claims are gone through before the one that is timed.
	deepPages = 50
)

// answerTime is how long a server has taken to answer a question, in ms.
type answerTime struct {
	What   string  `json:"what"`
	Path   string  `json:"path"`
	Median float64 `json:"median_ms"`
	Worst  float64 `json:"worst_ms"`
	Bytes  int     `json:"bytes"`
}

// asker asks a server.
type asker struct {
	options
	client *http.Client
}

// page is what is needed of an answer.
type page struct {
	Items []struct {
		ID   string `json:"id"`
		User string `json:"user"`
	} `json:"items"`
	Next string `json:"next_cursor"`
}

// ask times what a console asks of a server whose ledger this program has filled.
func ask(ctx context.Context, o options, out io.Writer) error {
	a := &asker{o, &http.Client{Timeout: askLimit}}
	questions, err := a.questions(ctx)
	if err != nil {
		return err
	}
	var times []answerTime
	for _, q := range questions {
		t, err := a.time(ctx, q[0], q[1])
		if err != nil {
			return err
		}
		times = append(times, t)
	}
	if o.asJSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(times)
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "question\tmedian ms\tworst\tbytes\tpath\t")
	for _, one := range times {
		_, _ = fmt.Fprintf(t, "%s\t%.1f\t%.1f\t%d\t%s\t\n", one.What, one.Median, one.Worst, one.Bytes, one.Path)
	}
	return t.Flush()
}

// questions are what a console asks on its pages, each with its name.
func (a *asker) questions(ctx context.Context) ([][2]string, error) {
	claims := "/campaigns/" + liveID + "/claims?limit=50"
	deep, user := "", ""
	for range deepPages {
		p, err := a.page(ctx, claims+deep)
		if err != nil {
			return nil, err
		}
		if user == "" && len(p.Items) > 0 {
			user = p.Items[0].User
		}
		if p.Next == "" {
			break
		}
		deep = "&cursor=" + url.QueryEscape(p.Next)
	}
	second, err := a.page(ctx, "/campaigns?limit=50")
	if err != nil {
		return nil, err
	}
	list, next := "/campaigns?limit=50", ""
	if second.Next != "" {
		next = "&cursor=" + url.QueryEscape(second.Next)
	}
	who := "/users/" + url.PathEscape(user)
	return [][2]string{
		{"campaigns", list}, {"campaigns, the next page", list + next},
		{"campaigns by name", list + "&sort=name&order=asc"}, {"campaigns by budget", list + "&sort=budget&order=desc"},
		{"campaigns by expiry", list + "&sort=expires&order=asc"}, {"campaigns of a word", list + "&q=live"},
		{"campaigns of a word that none has", list + "&q=nothing"}, {"campaigns, closed", list + "&state=closed"},
		{"campaigns, raining", list + "&state=raining"}, {"campaigns of a sponsor", list + "&sponsor=" + sponsor},
		{"one campaign", "/campaigns/" + liveID}, {"its figures", "/campaigns/" + liveID + "/stats"},
		{"its history", "/campaigns/" + liveID + "/history"}, {"its claims", claims},
		{"its claims, far behind", claims + deep}, {"its claims, settled", claims + "&state=settled"},
		{"its claims of one player", claims + "&user=" + url.QueryEscape(user)},
		{"players", "/users?limit=50"}, {"players by a beginning", "/users?limit=50&prefix=player-0000"},
		{"one player", who}, {"one player's claims", who + "/claims?limit=50"},
		{"one player's withdrawals", who + "/withdrawals?limit=50"},
		{"held wins, their sum", "/risk"}, {"held wins", "/risk/held?state=held&limit=50"},
		{"withdrawals", "/withdrawals?limit=50"}, {"dead letters", "/payouts?limit=50"},
		{"sponsors", "/sponsors?limit=50"}, {"the audit log", "/audit?limit=50"},
		{"the last proof", "/reconciliation/proved"},
	}, nil
}

func (a *asker) page(ctx context.Context, path string) (p page, err error) {
	body, _, err := a.get(ctx, path)
	if err != nil {
		return p, err
	}
	err = json.Unmarshal(body, &p)
	return p, err
}

// time asks a question some times.
func (a *asker) time(ctx context.Context, what, path string) (answerTime, error) {
	took := make([]time.Duration, 0, askTries)
	var body []byte
	for try := range askTries + 1 {
		var d time.Duration
		var err error
		if body, d, err = a.get(ctx, path); err != nil {
			return answerTime{}, err
		}
		if try > 0 {
			took = append(took, d)
		}
	}
	slices.Sort(took)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return answerTime{what, path, ms(took[askTries/2]), ms(took[askTries-1]), len(body)}, nil
}

func (a *asker) get(ctx context.Context, path string) (body []byte, took time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.server+"/api/v1"+path, nil)
	if err != nil {
		return nil, 0, err
	}
	r.Header.Set("Authorization", "Bearer "+a.token)
	began := time.Now()
	answer, err := a.client.Do(r)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	if body, err = io.ReadAll(answer.Body); err != nil {
		return nil, 0, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, 0, fmt.Errorf("GET %s: %s %s", path, answer.Status, body)
	}
	return body, time.Since(began), nil
}
