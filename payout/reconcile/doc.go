// Package reconcile proves that every cent is in exactly one place. It names ten faults of each kind, and counts the
// rest.
package reconcile
