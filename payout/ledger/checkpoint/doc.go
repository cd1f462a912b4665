// Package checkpoint keeps how far the books were proved. A checkpoint says up to which link each chain is whole,
// and its
// sums what had been added up by then: so the next proof reads only what came since. Rows are appended and never
// changed.
//
// Each row is sealed with the installation's secret. Who changes one without the secret is found by the next proof; who
// has the secret too is found by the full proof, which takes nothing from a checkpoint and holds each of them against
// what it reads itself.
package checkpoint
