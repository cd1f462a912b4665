// Package ledger reads and writes the ledger's tables: campaigns and their escrows, sponsors, claims, withdrawals,
// dead letters. It also has the audit, orders for two people, leases, and idempotent answers. Each is a type of its
// own. [New] makes all of them on one database.
package ledger
