// Package history keeps what each row that changes has been. Rows that never change are held by the chains of
// transactions as their papers; a campaign or a withdrawal is not, because it goes from state to state. So whoever
// changes one adds a line here: a hash of the row as it is from now on, with the rows that belong to it. The lines are
// chained as transactions are. A row that is not what its newest line says was changed behind the ledger's back.
package history
