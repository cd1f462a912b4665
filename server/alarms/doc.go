// Package alarms keeps the open alarms that a node has received, and posts them to an address of the operators.
//
//	open := alarms.NewOpen(clock, registry)     // the list of GET /alarms, and the metric redrain_alarms
//	isNews := open.Raise(alarm)                 // from any node
//	poster, err := alarms.NewPoster(alarms.Options{URL: url, Format: "dingtalk", Open: open, …})
//	err = poster.Run(ctx)                       // on nodes that may post
//
// One node posts for the installation, by a lease in the ledger. While the ledger cannot be asked, each node posts:
// that may be the alarm itself.
package alarms
