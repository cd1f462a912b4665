package e2e

import "encoding/json"

func parse[T any](line []byte) T {
	var v T
	must(json.Unmarshal(line, &v))
	return v
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
