package checkpoint

import (
	"context"
	"fmt"

	"redrain/internal/seal"
	"redrain/internal/sqldb"
)

// keys are all secrets that the installation has ever had, by their numbers.
type keys map[int64]seal.Secret

func readKeys(ctx context.Context, q sqldb.Querier) (keys, error) {
	k := keys{}
	err := q.Each(ctx, func(row sqldb.Scan) error {
		var id int64
		var raw []byte
		if err := row(&id, &raw); err != nil {
			return err
		}
		if len(raw) == seal.SecretBytes {
			k[id] = seal.Secret(raw)
		}
		return nil
	}, "SELECT id, secret FROM seal_key ORDER BY id")
	if err != nil {
		return nil, fmt.Errorf("the keys of the seals: %w", err)
	}
	return k, nil
}

func (k keys) newest() (id int64) {
	for n := range k {
		id = max(id, n)
	}
	return id
}
