package baseline

import (
	"encoding/json"

	"redrain/internal/wire"
)

// request is any message of a client.
type request struct {
	Type     string          `json:"type"`
	ID       json.RawMessage `json:"id"`
	Token    string          `json:"token"`
	Campaign string          `json:"campaign"`
	T        int64           `json:"t"`
}

// welcome answers hello.
type welcome struct {
	Type       string          `json:"type"`
	ID         json.RawMessage `json:"id,omitempty"`
	User       string          `json:"user"`
	ServerTime int64           `json:"server_time"`
	Campaign   wire.Campaign   `json:"campaign"`
	Rain       *wire.Rain      `json:"rain"`
	Claims     []wire.Claim    `json:"claims"`
}

// pong answers ping.
type pong struct {
	Type       string          `json:"type"`
	ID         json.RawMessage `json:"id,omitempty"`
	T          int64           `json:"t"`
	ServerTime int64           `json:"server_time"`
}

// wave announces drops.
type wave struct {
	Type  string   `json:"type"`
	Rain  string   `json:"rain"`
	N     int64    `json:"n"`
	At    int64    `json:"at"`
	Drops [][4]int `json:"drops"`
}

// packet is one element of the stock.
type packet struct {
	ID     int   `json:"id"`
	Amount int64 `json:"amount"`
}

// encode writes a message of this package. None of them can fail to encode.
func encode(message any) []byte {
	b, err := json.Marshal(message)
	if err != nil {
		panic("baseline: a message that cannot be encoded: " + err.Error())
	}
	return b
}
