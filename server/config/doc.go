// Package config has the settings of a server: one struct whose tags describe each setting, and the checks of related
// settings. The command line fills the struct; package server reads it.
//
//	c := config.Default()
//	c.Redis, c.NATS, c.MySQL = "redis:6379", "nats://nats:4222", "redrain:secret@tcp(db:3306)/redrain"
//	for _, fault := range c.Validate() {
//		fmt.Fprintln(os.Stderr, fault)
//	}
//
// Validate reports all faults at once. Sample, MainTable and Reference describe the settings for people.
package config
