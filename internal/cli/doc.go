// Package cli is the command line: what the flags are, where their values come from, and what each
// command does with them.
//
// The value of every flag comes from the command line, else from the environment (REDRAIN_ and the flag's name in
// capitals), else from the file of --config (the flag's name as key), else from its default. All faults of the settings
// are reported together, one line each, before anything is started.
//
// Commands reach a server through package client only; the players of bench come through package bench.
package cli
