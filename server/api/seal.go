package api

import "net/http"

// sealView tells which key is in use. Nobody is ever told what it is.
type sealView struct {
	Key int64 `json:"key"`
}

// rotateSeal makes a new key for the seals. Asked for twice at once it makes one: the second is told that it is too
// soon.
func (a *API) rotateSeal(w http.ResponseWriter, r *http.Request, who caller) error {
	number, err := a.o.Seals.Rotate(r.Context())
	if err != nil {
		return err
	}
	a.audit(r, who, "seal.rotate", "seal", map[string]any{"key": number})
	WriteJSON(w, http.StatusOK, sealView{Key: number})
	return nil
}
