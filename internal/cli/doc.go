// Package cli is the command line: the flags, the sources of their values, and the commands.
//
// The value of every flag comes from the command line, else from the environment, else from the file of --config, else
// from its default. The variable is REDRAIN_ and the flag's name in capitals; the key of the file is the flag's name.
// All faults of the settings are reported together, one line each, before anything is started.
//
// Commands reach a server through package client only; the players of bench come through package bench.
package cli
