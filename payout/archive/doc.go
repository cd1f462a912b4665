// Package archive removes from the books what was exported and is over: the payouts of a campaign with all that goes
// with them, and old audit records. It needs a user of the database who may delete, which servers do not have.
//
// What is removed leaves three things. A stub for each link of a chain, so that the chain can be followed and the roots
// hold. A transaction of kind carried for each step, with the net sum of each account, so that every balance stays the
// sum of its entries. And the papers: a row that says which export has it all, how much it is and who has removed it,
// with a row for each step that holds the stubs; their history is chained, and the audit has a record.
//
// Each step is one transaction of the database, and what is done is found by what is left: so it may be killed anywhere
// and be called again.
package archive
