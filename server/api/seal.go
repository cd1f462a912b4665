package api

import (
	"net/http"

	"redrain/internal/openapi"
)

// rotateSeal makes a new key for the seals. Asked for twice at once it makes one: the second is told that it is too
// soon.
func (a *API) rotateSeal(w http.ResponseWriter, r *http.Request, who caller) error {
	number, err := a.o.Seals.Rotate(r.Context())
	if err != nil {
		return err
	}
	a.audit(r, who, "seal.rotate", "seal", map[string]any{"key": number})
	return answer(w, openapi.SealKey{Key: number}, nil)
}
