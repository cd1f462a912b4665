package api

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"redrain/rain"
)

// The size of a page of a list.
const (
	defaultLimit = 50
	maxLimit     = 500
)

// page is where a list begins and how much of it is wanted.
type page struct {
	cursor string
	limit  int
}

// pageOf reads limit and cursor. More than the most is the most.
func pageOf(r *http.Request) (page, error) {
	p := page{cursor: r.URL.Query().Get("cursor"), limit: defaultLimit}
	if s := r.URL.Query().Get("limit"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return page{}, rain.Invalid{{Field: "limit", Message: fmt.Sprintf("is 1 to %d", maxLimit)}}
		}
		p.limit = min(n, maxLimit)
	}
	return p, nil
}

// list is a page of a list as it is answered.
type list[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next_cursor,omitempty"`
}

func listOf[T, V any](items []T, next string, view func(T) V) list[V] {
	views := make([]V, len(items))
	for i, item := range items {
		views[i] = view(item)
	}
	return list[V]{Items: views, Next: next}
}

// answerList answers with the page of a list that is asked for.
func answerList[T, V any](w http.ResponseWriter, r *http.Request,
	read func(ctx context.Context, cursor string, limit int) (items []T, next string, err error),
	view func(T) V) error {
	p, err := pageOf(r)
	if err != nil {
		return err
	}
	items, next, err := read(r.Context(), p.cursor, p.limit)
	return answerAs(w, items, err, func(items []T) list[V] { return listOf(items, next, view) })
}
