package store

import (
	"context"
	"fmt"
)

// Warnings describes dangerous settings of Redis for an operator; it is empty if there are none. A server that
// refuses to show its settings (CONFIG is often forbidden) is a warning too.
func (s *Store) Warnings(ctx context.Context) []string {
	var warnings []string
	for setting, good := range map[string]string{"maxmemory-policy": "noeviction", "appendonly": "yes"} {
		got, err := s.rdb.ConfigGet(ctx, setting).Result()
		switch is := got[setting]; {
		case err != nil:
			warnings = append(warnings, fmt.Sprintf("Redis does not show its %s, which must be %s: %s", setting, good,
				err))
		case is != good:
			warnings = append(warnings,
				fmt.Sprintf("Redis has %s %s; it must be %s, or wins can be lost", setting, is, good))
		}
	}
	return warnings
}
