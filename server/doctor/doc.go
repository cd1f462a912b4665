// Package doctor examines the surroundings of a node. They are each back end with its settings, the addresses that the
// node calls, and the limits of the machine. It changes nothing. It works before the first start of
// a node, and beside running ones.
//
//	for _, f := range doctor.Examine(ctx, doctor.Options{Config: cfg, …}) {
//		fmt.Println(f.Level, f.Check, f.Text, f.Link)
//	}
//
// Package health has the checks that each node repeats; this package runs them too. The texts never repeat an address
// or a data source name, because there may be a password in it.
package doctor
