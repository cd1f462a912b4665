// Package reconcile proves that every cent is in exactly one place, and names each row that is wrong.
package reconcile
