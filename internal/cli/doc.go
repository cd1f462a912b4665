// Package cli is the command line: what the flags are, where their values come from, and what each
// command does with them.
//
// A setting is looked for in the flags, then in the environment (REDRAIN_ and the flag's name in capitals),
// then in the file of --config (the flag's name as key); then its default holds. That is true of every flag of
// every command. Faults are collected, not thrown: someone whose deployment has three mistakes reads
// of all three, one line each, and nothing has been started.
//
// The commands that speak to a server do it through package operator and know nothing else of it.
package cli
