package ledger

import (
	"strconv"
	"strings"
)

// A cursor of a list that is ordered by time is the time and the id of the last row that was given: "1763712000000-c1".

func joinCursor(at int64, id string) string { return strconv.FormatInt(at, 10) + "-" + id }

func cutCursor(cursor string) (at int64, id string, ok bool) {
	head, id, ok := strings.Cut(cursor, "-")
	at, err := strconv.ParseInt(head, 10, 64)
	return at, id, ok && err == nil && id != ""
}

// page is the first limit rows of a list that may hold one more, and the cursor of what follows: "" on the last page.
func page[T any](list []T, limit int, cursor func(last T) string) (first []T, next string) {
	if len(list) <= limit {
		return list, ""
	}
	return list[:limit], cursor(list[limit-1])
}

// numberCursor reads the cursor of a list that is ordered by a number; empty is start.
func numberCursor(cursor string, start int64) (int64, error) {
	if cursor == "" {
		return start, nil
	}
	n, err := strconv.ParseInt(cursor, 10, 64)
	if err != nil || n < 0 {
		return 0, ErrBadCursor
	}
	return n, nil
}
